package link

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// XDPSwitch is a switch of XDP programs between devices that come and go, each with one address. The programs
// at its devices hold it: it is there as long as one of them is, whichever process has made it, and a
// device that is deleted leaves it by itself.
type XDPSwitch struct {
	program          *ebpf.Program
	ports, addresses *ebpf.Map
	close            func()
}

// Names and values of xdp/switch.bpf.c. The kernel keeps the first 15 bytes of a name
// (BPF_OBJ_NAME_LEN in include/uapi/linux/bpf.h).
const (
	xdpSwitchProgram = "learning_switch"
	xdpSwitchFixed   = "switch_fixed"
)

// NewXDPSwitch makes a switch without devices. Its addresses are those that Join is told: it learns none.
func NewXDPSwitch() (*XDPSwitch, error) {
	var failed error
	objects, err := load("switch", func(spec *ebpf.CollectionSpec) {
		if fixed, known := spec.Variables[xdpSwitchFixed]; known {
			failed = fixed.Set(true)
		} else {
			failed = fmt.Errorf("the XDP program is outdated and lacks %s; rebuild nines", xdpSwitchFixed)
		}
	})
	if err != nil {
		return nil, err
	}
	s := &XDPSwitch{
		program: objects.Programs[xdpSwitchProgram],
		ports:   objects.Maps["switch_ports"], addresses: objects.Maps["switch_addresses"], close: objects.Close,
	}
	if failed != nil {
		s.Close()
		return nil, failed
	}
	return s, nil
}

// XDPSwitchOf is the switch that a device is in; nil if it is in none of ours.
func XDPSwitchOf(device netlink.Link) (*XDPSwitch, error) {
	xdp := device.Attrs().Xdp
	if xdp == nil || xdp.ProgId == 0 {
		return nil, nil
	}
	program, err := ebpf.NewProgramFromID(ebpf.ProgramID(xdp.ProgId))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // taken away meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("find the XDP program of %s: %w", device.Attrs().Name, err)
	}
	s := &XDPSwitch{program: program}
	s.close = func() {
		for _, m := range []*ebpf.Map{s.ports, s.addresses} {
			if m != nil {
				m.Close()
			}
		}
		program.Close()
	}
	if err := s.find(); err != nil {
		s.Close()
		return nil, fmt.Errorf("look into the XDP program of %s: %w", device.Attrs().Name, err)
	}
	if s.ports == nil || s.addresses == nil {
		s.Close()
		return nil, nil // someone else's
	}
	return s, nil
}

// find opens the maps of a program that is a switch of ours.
func (s *XDPSwitch) find() error {
	info, err := s.program.Info()
	if err != nil || info.Name != xdpSwitchProgram {
		return err
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			return err
		}
		switch {
		case m.Type() == ebpf.DevMapHash && s.ports == nil:
			s.ports = m
		case m.Type() == ebpf.Hash && m.KeySize() == 8 && s.addresses == nil:
			s.addresses = m
		default:
			m.Close()
		}
	}
	return nil
}

// Join puts a device into the switch, by the namespace of the calling thread, in which it is. A device
// that is in the switch already stays; one with a program of someone else's is refused.
func (s *XDPSwitch) Join(device netlink.Link, mac net.HardwareAddr) error {
	if err := s.prune(); err != nil {
		return err
	}
	index, name := uint32(device.Attrs().Index), device.Attrs().Name
	if err := s.ports.Put(index, index); err != nil {
		return fmt.Errorf("add %s to the switch: %w", name, err)
	}
	if err := s.addresses.Put(addressKey(mac), index); err != nil {
		return fmt.Errorf("add address %s to the switch: %w", mac, err)
	}
	if xdp := device.Attrs().Xdp; xdp != nil {
		if info, err := s.program.Info(); err == nil {
			if id, known := info.ID(); known && uint32(id) == xdp.ProgId {
				return nil
			}
		}
	}
	return attach(device, s.program)
}

// prune forgets the addresses of devices that have left.
func (s *XDPSwitch) prune() error {
	var key [8]byte
	var index, still uint32
	var gone [][8]byte
	all := s.addresses.Iterate()
	for all.Next(&key, &index) {
		if err := s.ports.Lookup(index, &still); errors.Is(err, ebpf.ErrKeyNotExist) {
			gone = append(gone, key)
		} else if err != nil {
			return fmt.Errorf("look for a port of the switch: %w", err)
		}
	}
	if err := all.Err(); err != nil {
		return fmt.Errorf("read the addresses of the switch: %w", err)
	}
	for _, key := range gone {
		if err := s.addresses.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forget an address of the switch: %w", err)
		}
	}
	return nil
}

// Close lets go of the switch. Its devices stay in it.
func (s *XDPSwitch) Close() { s.close() }

// TakeRedirects prepares the other end of a veth whose end is in an XDP switch, once it is up: it takes
// redirected packets, and leaves nothing of its packets to be done by a device that does not exist.
func TakeRedirects(ns *netns.Namespace, device string) error {
	e, err := openEthtool(ns)
	if err != nil {
		return err
	}
	defer e.close()
	if _, err = e.apply(device, offloadsOff); err == nil {
		_, err = e.apply(device, groOn)
	}
	return err
}

// Addresses is how many addresses the switch knows.
func (s *XDPSwitch) Addresses() (count int, err error) {
	var key [8]byte
	var index uint32
	all := s.addresses.Iterate()
	for all.Next(&key, &index) {
		count++
	}
	return count, all.Err()
}

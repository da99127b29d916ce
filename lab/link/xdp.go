package link

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/plan"
)

// programs are the XDP programs; `make build` compiles them from their sources in
// the same folder.
//
//go:embed xdp
var programs embed.FS

// xdpFlags attach a program in native mode, and never replace another.
const xdpFlags = unix.XDP_FLAGS_DRV_MODE | unix.XDP_FLAGS_UPDATE_IF_NOEXIST

// makeXDP joins the fabric's ends of veth pairs by XDP redirects: two directly,
// more by a learning switch in BPF:
//
//	ip link add FABRIC_DEVICE type veth peer name IF netns NODE
//	ip link set FABRIC_DEVICE xdpdrv object pair.bpf.o
//
// The devices hold the programs and the programs hold their maps, so both live exactly as long as
// the link. On an impaired link the programs are those of AF_XDP sockets, and our switch is between
// them. A veth can be the target of redirects only if its peer uses NAPI, which GRO turns on:
// from Linux 5.13, veth_xdp_xmit in drivers/net/veth.c. Configure turns GRO on at the nodes' ends.
func makeXDP(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if len(endpoints) < 2 {
		return fmt.Errorf("joins two endpoints or more, not %d", len(endpoints))
	}
	if l.Impaired() {
		return makeSwitch(ctx, s, l, endpoints) // XDP programs cannot hold a packet
	}
	return s.inFabric(func(f *fabric) error {
		ports := make([]netlink.Link, 0, len(endpoints))
		for _, e := range endpoints {
			port, err := s.addFabricPair(f, l, e, 0)
			if err != nil {
				return err
			}
			ports = append(ports, port)
		}
		var err error
		if len(ports) == 2 {
			err = errors.Join(redirect(f, ports[0], ports[1]), redirect(f, ports[1], ports[0]))
		} else {
			err = s.learningSwitch(f, endpoints, ports)
		}
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			s.record("", l.Name, e.FabricDevice, map[string]string{"xdp": "native"})
		}
		return nil
	})
}

// lastOfXDP is the dry run's line on the programs at the fabric's ends.
func lastOfXDP(l plan.Link) string {
	program := "redirect to each other"
	if len(l.Endpoints) > 2 {
		program = "learning switch"
	}
	return "XDP program on the fabric's ends: " + program
}

// redirect sends what one device receives out through the other.
func redirect(f *fabric, in, out netlink.Link) error {
	objects, err := load("pair", nil)
	if err != nil {
		return err
	}
	defer objects.Close()
	// A device map takes interface indexes of the namespace of the caller that fills it.
	return f.ns.Do(func() error {
		if err := objects.Maps["other"].Put(uint32(0), uint32(out.Attrs().Index)); err != nil {
			return fmt.Errorf("set the target of %s: %w", in.Attrs().Name, err)
		}
		return attach(in, objects.Programs["pair"])
	})
}

// learningSwitch joins more than two devices, and gives the switch the plan's static addresses of
// each port.
func (s *Site) learningSwitch(f *fabric, endpoints []plan.Endpoint, ports []netlink.Link) error {
	objects, err := load("switch", func(spec *ebpf.CollectionSpec) {
		spec.Maps["switch_ports"].MaxEntries = uint32(len(ports))
	})
	if err != nil {
		return err
	}
	defer objects.Close()
	addresses, devices := objects.Maps["switch_addresses"], objects.Maps["switch_ports"]
	return f.ns.Do(func() error {
		for n, port := range ports {
			index := uint32(port.Attrs().Index)
			if err := devices.Put(index, index); err != nil {
				return fmt.Errorf("add port %s to the switch: %w", port.Attrs().Name, err)
			}
			i, err := s.interfaceOf(endpoints[n])
			if err != nil {
				return err
			}
			mac, err := net.ParseMAC(i.MAC)
			if err != nil {
				return err
			}
			if err := addresses.Put(addressKey(mac), index); err != nil {
				return fmt.Errorf("add address %s to the switch: %w", mac, err)
			}
		}
		for _, port := range ports {
			if err := attach(port, objects.Programs["learning_switch"]); err != nil {
				return err
			}
		}
		return nil
	})
}

// addressKey is a MAC address as programs look it up: its bytes in memory order, then zeros.
func addressKey(mac net.HardwareAddr) (key [8]byte) {
	copy(key[:], mac)
	return key
}

func load(name string, change func(*ebpf.CollectionSpec)) (*ebpf.Collection, error) {
	text, err := programs.ReadFile("xdp/" + name + ".bpf.o")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this nines was built without its XDP programs; build it with make build")
	}
	if err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read XDP program %s: %w", name, err)
	}
	if change != nil {
		change(spec)
	}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, missingXDP("the kernel does not load the program "+name, err)
	}
	return objects, nil
}

func attach(device netlink.Link, program *ebpf.Program) error {
	if err := netlink.LinkSetXdpFdWithFlags(device, program.FD(), xdpFlags); err != nil {
		return missingXDP("the kernel does not attach a program to the veth "+device.Attrs().Name, err)
	}
	return nil
}

func missingXDP(reason string, err error) error {
	return exit.Lacking(&exit.MissingError{
		Capability: host.FeatureXDPVeth, Reason: reason, Err: err,
		Remedy: "use Linux 5.13 or later with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS, or another link kind",
	})
}

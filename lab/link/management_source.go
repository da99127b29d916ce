package link

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// sourceToken is the name of the program at a node's port of the management bridge. It ends with the port.
const sourceToken = "nines-source"

// sourcesChecked is the setting of a port where that program is.
const sourcesChecked = "checked"

// sourceSpec is that program (tc/source.bpf.c), read once: each port has its own, with the node's addresses.
var sourceSpec = sync.OnceValues(func() (*ebpf.CollectionSpec, error) {
	text, err := uplinkPrograms.ReadFile("tc/source.bpf.o")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this nines was built without its BPF programs; build it with make build")
	}
	if err != nil {
		return nil, err
	}
	return ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
})

// checkSources drops what a node sends to the management bridge by port from addresses that are not its own:
//
//	tc qdisc add dev PORT clsact; tc filter add dev PORT ingress bpf direct-action object tc/source.bpf.o
//
// It returns what is in force: a kernel without these programs has a management network without the check.
func (s *Site) checkSources(f *fabric, e plan.Endpoint, port netlink.Link) (string, error) {
	i, err := s.managed(e)
	if err != nil {
		return "", err
	}
	objects, err := loadSource(i)
	if err == nil {
		defer objects.Close()
		err = makeHooks(f.Handle, port)
	}
	if err == nil {
		err = hooked{"from_node", port, netlink.HANDLE_MIN_INGRESS}.put(f.Handle, objects.Programs["from_node"], sourceToken)
	}
	if missing := new(exit.MissingError); errors.As(err, &missing) {
		return "not checked: " + missing.Reason, nil
	}
	return sourcesChecked, err
}

// CheckSources does so again for interfaces of a node whose addresses may have changed.
func (s *Site) CheckSources(n plan.Node, interfaces []plan.Interface) error {
	m := s.Plan.Management
	at := slices.IndexFunc(interfaces, func(i plan.Interface) bool { return m != nil && i.Link == m.Link })
	if at < 0 {
		return nil
	}
	_, e := s.Plan.EndOf(n.Name, interfaces[at].Name)
	return s.inFabric(func(f *fabric) error {
		port, err := f.LinkByName(e.FabricDevice)
		if err != nil {
			return fmt.Errorf("find %s: %w", e.FabricDevice, err)
		}
		if _, err = s.checkSources(f, e, port); err != nil {
			return fmt.Errorf("node %q: check the sources of what comes by %s: %w", n.Name, e.FabricDevice, err)
		}
		return nil
	})
}

// managed is the node's interface at an end of the management network.
func (s *Site) managed(e plan.Endpoint) (plan.Interface, error) {
	if n := s.Plan.Node(e.Node); n != nil {
		for _, i := range n.Interfaces {
			if i.Name == e.Interface {
				return i, nil
			}
		}
	}
	return plan.Interface{}, fmt.Errorf("the plan has no interface %s", e.Name())
}

func loadSource(i plan.Interface) (*ebpf.Collection, error) {
	read, err := sourceSpec()
	if err != nil {
		return nil, err
	}
	mac, err := net.ParseMAC(i.MAC)
	if err != nil {
		return nil, err
	}
	addresses, anyIPv4, err := sourcesOf(mac, i.Addresses)
	if err != nil {
		return nil, err
	}
	spec := read.Copy()
	for name, value := range map[string]any{"own_mac": addressKey(mac), "any_ipv4": anyIPv4} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	for _, address := range addresses {
		spec.Maps["own_addresses"].Contents = append(spec.Maps["own_addresses"].Contents, ebpf.MapKV{Key: address, Value: uint32(1)})
	}
	objects, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, missingHooks("the kernel does not load the program that checks sources", err)
	}
	return objects, nil
}

// sourcesOf are the addresses from which an interface may send, IPv4 as ::ffff:a.b.c.d. anyIPv4 is 1 if the plan has
// none of IPv4: a DHCP server that the lab does not know may give one. It is pure.
func sourcesOf(mac net.HardwareAddr, planned []string) (addresses [][16]byte, anyIPv4 uint32, err error) {
	anyIPv4 = 1
	for _, text := range planned {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, 0, fmt.Errorf("address %q: %w", text, err)
		}
		if prefix.Addr().Is4() {
			anyIPv4 = 0
		}
		addresses = append(addresses, prefix.Addr().As16())
	}
	return append(addresses, linkLocal(mac)), anyIPv4, nil
}

// linkLocal is the address that Linux makes of a MAC address (RFC 4291, appendix A).
func linkLocal(mac net.HardwareAddr) [16]byte {
	return [16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}
}

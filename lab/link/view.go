package link

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
)

// View is the state of a network namespace, as far as labs plan it.
type View struct {
	devices []Seen
	// at has the places of the devices by their names, routes those of the kernel by where they lead.
	at      map[string]int
	routes  map[netip.Prefix][]netlink.Route
	indexes map[string]int
	// everyRoute are those of all tables, rules those of all families; families are what the kernel has.
	everyRoute []netlink.Route
	rules      []netlink.Rule
	families   []int
	// loopback are the addresses of the loopback.
	loopback []string
}

// Seen is a device of a View.
type Seen struct {
	Device
	// Up is what someone set, whatever the carrier.
	Up bool
	// Master is the bridge that it is a port of; empty for none.
	Master string
	// XDP is what is attached to it; nil for nothing.
	XDP *XDP

	link       netlink.Link
	qdiscs     []netlink.Qdisc
	neighbours []netlink.Neigh
	offloads   map[string]string
	ipv6Off    string
}

// XDP is a program at a device.
type XDP struct {
	ID   uint32
	Name string
	// Native is true where the driver runs it, and not the kernel behind it.
	Native bool
	// targets are the indexes of the devices that the program's map of devices leads to.
	targets []uint32
}

// Find returns the device of a name; nil if there is none.
func (v *View) Find(name string) *Seen {
	if i, has := v.at[name]; has {
		return &v.devices[i]
	}
	return nil
}

// Add adds a device. Of two with one name, the first is found.
func (v *View) Add(s Seen) {
	if v.at == nil {
		v.at = map[string]int{}
	}
	if _, has := v.at[s.Name]; !has {
		v.at[s.Name] = len(v.devices)
	}
	v.devices = append(v.devices, s)
}

// Join is the devices of several namespaces.
func Join(views ...*View) *View {
	all := &View{}
	for _, v := range views {
		for _, s := range v.devices {
			all.Add(s)
		}
	}
	return all
}

// Look reads what there is in a holder's namespace, without the loopback.
func Look(h Holder) (v *View, err error) {
	err = inside(h, func(ns *netns.Namespace, handle *netlink.Handle) error {
		v, err = look(ns, handle)
		return err
	})
	return v, err
}

func look(ns *netns.Namespace, handle *netlink.Handle) (*View, error) {
	links, err := netns.Whole(handle.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	qdiscs, err := netns.Whole(func() ([]netlink.Qdisc, error) { return handle.QdiscList(nil) })
	if err != nil {
		return nil, fmt.Errorf("list queueing disciplines: %w", err)
	}
	neighbours, err := netns.Whole(func() ([]netlink.Neigh, error) { return handle.NeighList(0, unix.AF_UNSPEC) })
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	v := &View{routes: map[netip.Prefix][]netlink.Route{}, indexes: map[string]int{}}
	if err := v.readRouting(handle); err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index], v.indexes[l.Attrs().Name] = l.Attrs().Name, l.Attrs().Index
	}
	qdiscsOf, neighboursOf := map[int][]netlink.Qdisc{}, map[int][]netlink.Neigh{}
	for _, q := range qdiscs {
		qdiscsOf[q.Attrs().LinkIndex] = append(qdiscsOf[q.Attrs().LinkIndex], q)
	}
	for _, n := range neighbours {
		if n.State == unix.NUD_PERMANENT {
			neighboursOf[n.LinkIndex] = append(neighboursOf[n.LinkIndex], n)
		}
	}
	for _, l := range links {
		a := l.Attrs()
		if a.Name == "lo" {
			lo, err := inspect(handle, l)
			if err != nil {
				return nil, err
			}
			v.loopback = lo.Addresses
			continue
		}
		s := Seen{link: l, Up: a.RawFlags&unix.IFF_UP != 0, Master: names[a.MasterIndex], qdiscs: qdiscsOf[a.Index], neighbours: neighboursOf[a.Index]}
		if s.Device, err = inspect(handle, l); err != nil {
			return nil, err
		}
		if s.XDP, err = attached(a.Xdp); err != nil {
			return nil, fmt.Errorf("read the XDP program of %s: %w", a.Name, err)
		}
		v.Add(s)
	}
	e, err := openEthtool(ns)
	if err != nil {
		return nil, err
	}
	defer e.close()
	for i := range v.devices {
		s := &v.devices[i]
		s.offloads = map[string]string{}
		for _, wanted := range offloadsOff {
			on, err := e.Get(s.Name, wanted.Feature)
			if err == nil {
				s.offloads[wanted.Name] = onOff(on)
			} else if !isUnsupported(err) && !errors.Is(err, unix.ENODEV) { // it may be gone now
				return nil, err
			}
		}
	}
	return v, ns.Do(func() error {
		for i := range v.devices {
			s := &v.devices[i]
			off, err := netns.ReadSysctl("net/ipv6/conf/" + s.Name + "/disable_ipv6")
			if err != nil && !errors.Is(err, netns.ErrNoSysctl) {
				return err
			}
			s.ipv6Off = off
		}
		return nil
	})
}

// readRouting reads the routes and rules of a namespace.
func (v *View) readRouting(handle *netlink.Handle) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := netns.Whole(func() ([]netlink.Route, error) {
			return handle.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		})
		if isUnsupported(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list routes: %w", err)
		}
		v.everyRoute = append(v.everyRoute, routes...)
		for _, r := range routes {
			if to := routePrefix(r); r.Table == unix.RT_TABLE_MAIN && v.routes != nil {
				v.routes[to] = append(v.routes[to], r)
			}
		}
		rules, err := netns.Whole(func() ([]netlink.Rule, error) { return handle.RuleList(family) })
		if isUnsupported(err) { // a kernel without rules of routing
			continue
		}
		if err != nil {
			return fmt.Errorf("list rules of routing: %w", err)
		}
		v.rules, v.families = append(v.rules, rules...), append(v.families, family)
	}
	return nil
}

// attached is the program of a device; nil for none, and for one that has just gone.
func attached(x *netlink.LinkXdp) (*XDP, error) {
	if x == nil || !x.Attached {
		return nil, nil
	}
	found := &XDP{ID: x.ProgId, Native: x.AttachMode == nl.XDP_ATTACHED_DRV}
	program, err := ebpf.NewProgramFromID(ebpf.ProgramID(x.ProgId))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	found.Name = info.Name
	maps, _ := info.MapIDs()
	for _, id := range maps {
		if err := found.follow(id); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// follow reads where a map of devices leads.
func (x *XDP) follow(id ebpf.MapID) error {
	m, err := ebpf.NewMapFromID(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer m.Close()
	if m.Type() != ebpf.DevMap && m.Type() != ebpf.DevMapHash || m.ValueSize() != 4 {
		return nil
	}
	var key, value uint32
	entries := m.Iterate()
	for entries.Next(&key, &value) {
		x.targets = append(x.targets, value)
	}
	return entries.Err()
}

package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

// bypassViolations: each DPDK endpoint has one way to its link and the other side has the
// counterpart; programs have CPUs that exist; and the plan's hugepages are what the users of DPDK
// take.
func bypassViolations(p *Plan, usable func(id int) bool) []string {
	var list []string
	fail := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	prefixes := map[string]bool{}
	var pages int64
	use := func(who string, d *DPDK) {
		if d == nil {
			return
		}
		if prefixes[d.Prefix] || d.Prefix == "" || len(d.Prefix) > 63 {
			fail("%s has the prefix %q", who, d.Prefix)
		}
		prefixes[d.Prefix] = true
		if d.Huge {
			// A program may take its memory on each of several NUMA nodes.
			nodes := 0
			for _, demand := range p.Hugepages.Demands {
				if strings.HasSuffix(demand.Who, who) {
					nodes++
				}
			}
			pages += int64(nodes) * ((d.MemoryBytes + p.Hugepages.PageBytes - 1) / p.Hugepages.PageBytes)
		}
		if d.Huge == (p.Hugepages.Mode == spec.HugepagesNone) {
			fail("%s: huge is %v, and the mode %s", who, d.Huge, p.Hugepages.Mode)
		}
	}
	for _, n := range p.Nodes {
		opened := slices.ContainsFunc(n.Interfaces, func(i Interface) bool { return i.Device != nil })
		if opened != (n.DPDK != nil) {
			fail("%s opens devices: %v, and has %+v for it", n.Name, opened, n.DPDK)
		}
		use("node "+n.Name, n.DPDK)
	}
	sockets := map[string]int{}
	for _, l := range p.Links {
		if (l.Kind.Descriptor().Program != nil) != (l.Switch != nil) {
			fail("link %s of kind %s has the program %+v", l.Name, l.Kind, l.Switch)
			continue
		}
		if s := l.Switch; s != nil {
			use("link "+l.Name, s.DPDK)
			if l.Kind != spec.LinkOVS && len(s.CPUs) == 0 {
				fail("the program of link %s has no CPU", l.Name)
			}
			for _, id := range append(slices.Clone(s.CPUs), s.HousekeepingCPU) {
				if !usable(id) {
					fail("the program of link %s has CPU %d, which is not usable", l.Name, id)
				}
			}
		}
		for _, e := range l.Endpoints {
			if e.Socket != "" {
				sockets[e.Socket]++
			}
			list = append(list, endpointViolations(l, e, p.Index().face(e))...)
		}
	}
	for socket, count := range sockets {
		if count > 2 {
			fail("%d endpoints meet at the socket %s", count, socket)
		}
	}
	if (p.Hugepages != nil) != (len(prefixes) > 0) {
		fail("%d use DPDK, and the hugepages are %+v", len(prefixes), p.Hugepages)
		return list
	}
	if p.Hugepages != nil {
		var told int64
		for _, d := range p.Hugepages.Demands {
			told += int64(d.Pages)
		}
		if told != pages {
			fail("the users of DPDK take %d hugepages, and %d are told", pages, told)
		}
	}
	return list
}

func endpointViolations(l Link, e Endpoint, face Interface) []string {
	d := face.Device
	ok := false
	switch e.Attach {
	case AttachVhost:
		ok = l.Switch != nil && d != nil && !d.Kernel && d.Driver == driverVirtioUser && e.FabricDevice == "" &&
			e.Socket != "" && d.Socket == e.Socket && d.Server != e.SocketServer
	case AttachMemif:
		ok = l.Kind == spec.LinkMemif && d != nil && !d.Kernel && d.Driver == driverMemif && e.FabricDevice == "" &&
			d.Socket == e.Socket && e.Socket != "" && d.Server == (e == l.Endpoints[0])
	case AttachVeth:
		ok = l.Switch != nil && e.FabricDevice != "" && e.Socket == "" && (d == nil || d.Kernel && l.Kind == spec.LinkOVS)
	case "":
		ok = l.Switch == nil && l.Kind != spec.LinkMemif && e.Socket == "" && (d == nil || d.Kernel && d.Driver == driverAFPacket)
	}
	if !ok {
		return []string{fmt.Sprintf("link %s of kind %s: the endpoint %+v meets %+v", l.Name, l.Kind, e, d)}
	}
	return nil
}

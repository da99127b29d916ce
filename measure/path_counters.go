package measure

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/lab/service"
	"nines.dev/nines/measure/way"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// pathCounters are the kernel's counters of the nodes on a path, and the CPU time of their services, at one moment.
type pathCounters map[string]nodeCounters

type nodeCounters struct {
	ip         map[string]uint64
	interfaces map[string]map[string]uint64
	services   map[string]time.Duration
}

// ipCounters are those that tell of a node's part in a path (/proc/net/snmp, netstat and snmp6).
var ipCounters = []string{
	"Ip.InReceives", "Ip.ForwDatagrams", "Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards", "Ip.OutDiscards", "Ip.OutNoRoutes",
	"Udp.InDatagrams", "Udp.NoPorts", "Udp.InErrors", "Udp.RcvbufErrors", "Udp.InCsumErrors", "Udp.OutDatagrams", "IpExt.InNoRoutes", "TcpExt.IPReversePathFilter",
	"Ip6.InReceives", "Ip6.OutForwDatagrams", "Ip6.InHdrErrors", "Ip6.InAddrErrors", "Ip6.InDiscards", "Ip6.OutDiscards", "Ip6.InNoRoutes", "Ip6.OutNoRoutes", "Ip6.InTooBigErrors",
	"Udp6.InDatagrams", "Udp6.NoPorts", "Udp6.InErrors", "Udp6.RcvbufErrors", "Udp6.InCsumErrors", "Udp6.OutDatagrams",
}

// interfaceCounters are the columns of /proc/net/dev.
var interfaceCounters = []struct {
	name   string
	column int
}{{"rx_packets", 1}, {"rx_errors", 2}, {"rx_dropped", 3}, {"tx_packets", 9}, {"tx_errors", 10}, {"tx_dropped", 11}}

// pathCounters are the probe of a trial's path.
func (b *bench) pathCounters(p *plan.Plan) probe {
	return &difference[pathCounters]{
		read: func(context.Context) (pathCounters, error) { return b.readPath(p) },
		tell: func(o *observation, before, after pathCounters) {
			o.path = way.Seen(p, o.outcome.Rx.Seen)
			o.path.Nodes = after.since(before, p)
			o.astray = way.Contradictions(p, o.path)
			o.idle = idle(p, o.path.Nodes, o.outcome.Rx.RxPackets)
		},
	}
}

// readPath reads them; a node that has ended, or is on another machine, is left out.
func (b *bench) readPath(p *plan.Plan) (pathCounters, error) {
	found := pathCounters{}
	for _, endpoint := range p.Endpoints() {
		name, _, _ := strings.Cut(endpoint, ":")
		n, running := p.Node(name), b.lab.Running(name)
		if _, has := found[name]; has || n == nil || n.Apart() || running == nil {
			continue
		}
		ns, err := running.Namespace()
		if err != nil {
			continue
		}
		one := nodeCounters{services: map[string]time.Duration{}}
		err = ns.Do(func() error {
			one.ip = map[string]uint64{}
			for _, file := range []string{"snmp", "netstat"} {
				text, err := os.ReadFile("/proc/thread-self/net/" + file)
				if err != nil {
					return err
				}
				maps.Copy(one.ip, ipTable(string(text)))
			}
			if text, err := os.ReadFile("/proc/thread-self/net/snmp6"); err == nil { // absent in a kernel without IPv6
				maps.Copy(one.ip, ip6List(string(text)))
			}
			text, err := os.ReadFile("/proc/thread-self/net/dev")
			one.interfaces = interfaceTable(string(text))
			return err
		})
		_ = ns.Close()
		if err != nil {
			return nil, fmt.Errorf("counters of node %s: %w", name, err)
		}
		found[name] = one
	}
	services, err := service.All(b.lab.Lab)
	for _, s := range services {
		if one, on := found[s.Node]; on {
			if took, known := s.CPUTime(); known {
				one.services[s.Name] = took
			}
		}
	}
	return found, err
}

// ipTable reads pairs of lines: names, then values.
func ipTable(text string) map[string]uint64 {
	table := map[string]uint64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		names := strings.Fields(lines.Text())
		if !lines.Scan() {
			break
		}
		for i, value := range strings.Fields(lines.Text()) {
			if i == 0 || i >= len(names) {
				continue
			}
			if number, err := strconv.ParseUint(value, 10, 64); err == nil {
				table[strings.TrimSuffix(names[0], ":")+"."+names[i]] = number
			}
		}
	}
	return table
}

// ip6List reads a counter a line, such as Ip6InReceives, and names them as ipTable does.
func ip6List(text string) map[string]uint64 {
	list := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		protocol, name, found := strings.Cut(fields[0], "6")
		if number, err := strconv.ParseUint(fields[1], 10, 64); found && err == nil {
			list[protocol+"6."+name] = number
		}
	}
	return list
}

func interfaceTable(text string) map[string]map[string]uint64 {
	table := map[string]map[string]uint64{}
	for line := range strings.Lines(text) {
		name, rest, is := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !is || len(fields) < 16 {
			continue // the heads
		}
		counts := map[string]uint64{}
		for _, c := range interfaceCounters {
			counts[c.name], _ = strconv.ParseUint(fields[c.column], 10, 64)
		}
		table[strings.TrimSpace(name)] = counts
	}
	return table
}

// since is what was counted from one moment to another, in the path's order; what stayed 0 is left out.
func (c pathCounters) since(before pathCounters, p *plan.Plan) []result.SeenNode {
	var list []result.SeenNode
	for _, endpoint := range p.Endpoints() {
		name, _, _ := strings.Cut(endpoint, ":")
		now, is := c[name]
		was, had := before[name]
		if !is || !had || slices.ContainsFunc(list, func(s result.SeenNode) bool { return s.Node == name }) {
			continue
		}
		one := result.SeenNode{Node: name, Counters: map[string]uint64{}, Interfaces: map[string]map[string]uint64{}}
		for _, key := range ipCounters {
			if n := now.ip[key] - was.ip[key]; n > 0 && now.ip[key] > was.ip[key] {
				one.Counters[key] = n
			}
		}
		for device, counts := range now.interfaces {
			differences := map[string]uint64{}
			for key, n := range counts {
				if before := was.interfaces[device][key]; n > before {
					differences[key] = n - before
				}
			}
			if len(differences) > 0 {
				one.Interfaces[device] = differences
			}
		}
		for _, service := range slices.Sorted(maps.Keys(now.services)) {
			if before, had := was.services[service]; had {
				one.Services = append(one.Services, result.SeenService{Name: service, CPUNs: int64(now.services[service] - before)})
			}
		}
		list = append(list, one)
	}
	return list
}

// idle says which services of a device got no CPU time, where the file does not say how packets leave it: then nothing
// else tells that they went through them.
func idle(p *plan.Plan, nodes []result.SeenNode, received uint64) []string {
	var list []string
	for _, seen := range nodes {
		n := p.Node(seen.Node)
		if n == nil || !n.App.Handling().IsDevice() || n.App.Leaves != "" || received == 0 {
			continue
		}
		for _, s := range seen.Services {
			if s.CPUNs == 0 {
				list = append(list, fmt.Sprintf("service %s of node %s got no CPU time in the trial, so the packets did not go through it: app: {leaves: …} says what must be seen of them", s.Name, seen.Node))
			}
		}
	}
	return list
}

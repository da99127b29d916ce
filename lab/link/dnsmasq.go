package link

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// nameServer is the Name of dnsmasq's step in the journal.
const nameServer = "dnsmasq"

// FindNameServer finds dnsmasq on the host.
func FindNameServer() (string, error) {
	return Find(nameServer, "apt-get install dnsmasq-base, or write management: {dns: false}", "dnsmasq", "/usr/sbin/dnsmasq")
}

// serveNames runs dnsmasq in the fabric, at the bridge. It has given up root's rights when it answers.
func (s *Site) serveNames(ctx context.Context, l plan.Link) error {
	m := s.Plan.Management
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	path, wanted := filepath.Join(dir, "dnsmasq.conf"), dnsmasqConfig(s.Plan)
	if has, err := os.ReadFile(path); err == nil && string(has) == wanted && s.alive(l, nameServer) {
		return nil
	}
	program, err := FindNameServer()
	if err != nil {
		return err
	}
	// It has read its files before it gave up its rights, so it cannot read them again.
	err = s.Journal.Undo(ctx, func(string) {}, func(e journal.Entry) bool {
		return e.Kind == process.Kind && e.Link == l.Name && e.Name == nameServer
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(wanted), 0o600); err != nil {
		return err
	}
	_, err = s.Start(ctx, l, Program{
		Name: nameServer, Argv: []string{program, "--keep-in-foreground", "--conf-file=" + path},
		CPUs: s.quietCPUs(),
		Ready: func(context.Context) error {
			return Answers(s.Fabric, netip.MustParseAddr(m.Server), 53)
		},
	})
	return err
}

// quietCPUs are those of the host's own work; nil where nothing is pinned.
func (s *Site) quietCPUs() []int {
	if s.Plan.Isolation == spec.IsolationNone {
		return nil
	}
	return s.Plan.HousekeepingCPUs
}

// alive is true if a program of a link runs.
func (s *Site) alive(l plan.Link, program string) bool {
	for _, e := range s.Journal.Entries() {
		if e.Kind == process.Kind && e.Link == l.Name && e.Name == program && e.Learnt != nil {
			return process.Of(e).Alive()
		}
	}
	return false
}

// answerPatience bounds the wait for an answer from an address that is in the same namespace.
const answerPatience = 2 * time.Second

// Answers is nil if a server takes connections at an address and port, from inside its namespace,
// where no firewall of the host is between.
func Answers(h Holder, address netip.Addr, port uint16) error {
	ns, err := netns.OfProcess(h.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		c, err := net.DialTimeout("tcp4", netip.AddrPortFrom(address, port).String(), answerPatience)
		if err != nil {
			return err
		}
		return c.Close()
	})
}

// dnsmasqConfig is dnsmasq's configuration, dnsmasq(8): the nodes' names in the domain of the network,
// and their addresses for requests by DHCP with a node's MAC address. It knows nothing else and
// forwards no question. It is pure.
func dnsmasqConfig(p *plan.Plan) string {
	m := p.Management
	subnet := netip.MustParsePrefix(m.Subnet)
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("# By nines, for the management network of the lab %s.", p.Name)
	line("interface=%s", m.Bridge)
	line("except-interface=lo")
	line("bind-interfaces")
	line("no-resolv\nno-hosts\nno-poll")
	line("user=nobody\ngroup=nogroup")
	line("pid-file")
	line("log-facility=-")
	line("domain=%s\nlocal=/%s/", plan.ManagementDomain, plan.ManagementDomain)
	line("dhcp-range=%s,static,%s,infinite", subnet.Addr(), net.IP(net.CIDRMask(subnet.Bits(), 32)))
	line("dhcp-authoritative\nleasefile-ro")
	line("dhcp-option=option:router") // none: the network ends at the host
	for _, n := range p.Nodes {
		address := p.ManagementAddress(n)
		for _, i := range n.Interfaces {
			if i.Link == m.Link && address != "" {
				line("host-record=%s.%s,%s", n.Name, plan.ManagementDomain, address)
				line("dhcp-host=%s,%s,%s", i.MAC, address, n.Name)
			}
		}
	}
	return b.String()
}

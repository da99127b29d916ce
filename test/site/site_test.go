package site

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/kernel/ledger"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// site is a host with an interface on a network of others, each a network namespace:
//
//	host: up0 10.77.0.1/24, fd77::1/64 ──veth── net0 10.77.0.254/24: far, with the site's dnsmasq
//
// nines runs in the host's.
type site struct {
	t         *testing.T
	host, far string
	binary    string
	dir       string
	uplink    string
}

// newSite makes a site, for a test that calls nines again and again. Its name is in those of its namespaces.
func newSite(t *testing.T, name string) *site {
	t.Helper()
	labtest.Experiment(t)
	s := &site{t: t, host: "site-" + name + "-host", far: "site-" + name + "-far", dir: t.TempDir(), uplink: "up0"}
	for _, ns := range []string{s.host, s.far} {
		s.ip("netns", "add", ns)
		t.Cleanup(func() { s.ip("netns", "del", ns) })
	}
	s.ip("-n", s.host, "link", "add", s.uplink, "mtu", "1400", "type", "veth", "peer", "name", "net0", "netns", s.far)
	s.ip("-n", s.far, "link", "set", "net0", "mtu", "1400")
	s.ip("-n", s.host, "addr", "add", "10.77.0.1/24", "dev", s.uplink)
	s.ip("-n", s.host, "addr", "add", "fd77::1/64", "dev", s.uplink, "nodad")
	s.ip("-n", s.far, "addr", "add", "10.77.0.254/24", "dev", "net0")
	s.ip("-n", s.far, "addr", "add", "fd77::fe/64", "dev", "net0", "nodad")
	for ns, device := range map[string]string{s.host: s.uplink, s.far: "net0"} {
		s.ip("-n", ns, "link", "set", "lo", "up")
		s.ip("-n", ns, "link", "set", device, "up")
	}
	s.ip("-n", s.host, "route", "add", "default", "via", "10.77.0.254", "dev", s.uplink, "proto", "static", "metric", "77")
	s.ip("-n", s.host, "route", "add", "10.88.0.0/16", "via", "10.77.0.254", "table", "77")
	s.ip("-n", s.host, "-6", "route", "add", "default", "via", "fd77::fe", "dev", s.uplink, "metric", "78")
	s.settle()
	return s
}

// settle waits until the host's addresses are those that stay: duplicate address detection takes a second.
func (s *site) settle() {
	s.t.Helper()
	labtest.Eventually(s.t, "the host's addresses are settled", func() bool { return !strings.Contains(s.in(s.host, "ip", "addr"), "tentative") })
}

// withNines has the nines that is tested, of a build with tags.
func (s *site) withNines(tags ...string) *site {
	s.t.Helper()
	s.binary = labtest.Nines(s.t, tags...)
	return s
}

func (s *site) ip(arguments ...string) {
	s.t.Helper()
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		s.t.Fatalf("ip %s: %v: %s", strings.Join(arguments, " "), err, out)
	}
}

// within is a command in a namespace that sees the same files, as ip netns exec does not.
func (s *site) within(ns string, argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + ns, "--"}, argv...)...)
}

// in runs a command in a namespace, which must succeed.
func (s *site) in(ns string, argv ...string) string {
	s.t.Helper()
	out, err := s.within(ns, argv...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v: %v: %s", ns, argv, err, out)
	}
	return string(out)
}

// shown is what a command on the host shows, without its complaints: ip has one of each namespace that another test
// removes at that moment.
func (s *site) shown(argv ...string) string {
	s.t.Helper()
	out, err := s.within(s.host, argv...).Output()
	if err != nil {
		s.t.Fatalf("%v: %v", argv, err)
	}
	return string(out)
}

// nines runs nines on the host, which must succeed.
func (s *site) nines(arguments ...string) string {
	s.t.Helper()
	return s.in(s.host, append([]string{s.binary}, arguments...)...)
}

// refused runs nines on the host, which must fail with an exit code.
func (s *site) refused(code int, arguments ...string) string {
	s.t.Helper()
	out, err := s.within(s.host, append([]string{s.binary}, arguments...)...).CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != code {
		s.t.Errorf("nines %s: %v, want exit code %d: %s", strings.Join(arguments, " "), err, code, out)
	}
	return string(out)
}

// up brings a lab up, and takes it down with the test.
func (s *site) up(name, text string) (file string) {
	s.t.Helper()
	file = s.file(name, text)
	s.t.Cleanup(func() {
		if out, err := s.within(s.host, s.binary, "down", name).CombinedOutput(); err != nil && !strings.Contains(string(out), "does not exist") {
			s.t.Errorf("down %s: %v: %s", name, err, out)
		}
	})
	s.nines("up", file)
	return file
}

func (s *site) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// state is all that a lab may change of the host.
func (s *site) state() string {
	s.t.Helper()
	var all strings.Builder
	for _, argv := range [][]string{
		{"ip", "-d", "link", "show"}, {"ip", "addr"}, {"ip", "route", "show", "table", "all"}, {"ip", "-6", "route", "show", "table", "all"}, {"ip", "rule"},
	} {
		fmt.Fprintf(&all, "%v\n%s\n", argv, s.shown(argv...))
	}
	return all.String() + s.atUplink()
}

// atUplink is what a lab puts at the uplink.
func (s *site) atUplink() string {
	s.t.Helper()
	var all strings.Builder
	for _, argv := range [][]string{{"tc", "qdisc", "show", "dev", s.uplink}, {"tc", "filter", "show", "dev", s.uplink, "ingress"}, {"tc", "filter", "show", "dev", s.uplink, "egress"}} {
		fmt.Fprintf(&all, "%v\n%s\n", argv, s.shown(argv...))
	}
	// The kernel joins groups of IPv6 in its own time.
	addresses := strings.Split(s.shown("bridge", "fdb", "show", "dev", s.uplink), "\n")
	fmt.Fprintf(&all, "addresses\n%s\n", slices.DeleteFunc(addresses, func(line string) bool { return strings.HasPrefix(line, "33:33") }))
	for line := range strings.Lines(s.shown("ip", "-d", "link", "show", s.uplink)) {
		if _, after, has := strings.Cut(line, "promiscuity "); has {
			fmt.Fprintf(&all, "promiscuity %s\n", strings.Fields(after)[0])
		}
	}
	return all.String()
}

// asBefore fails the test if the host is not as it was, or the ledger still has an interface of it.
func (s *site) asBefore(what, before string) {
	s.t.Helper()
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(s.state(), "\n")); diff != "" {
		s.t.Errorf("%s: the host was (-) and is (+)\n%s", what, diff)
	}
	uses := map[string]any{}
	if err := (ledger.File{Path: link.UplinkLedger}).Read(&uses); err != nil || strings.Contains(fmt.Sprint(uses), os.Getenv("NINES_STATE_DIR")+"/") {
		s.t.Errorf("%s: the ledger has %v, %v", what, uses, err)
	}
}

// steady has a connection of the host's, on which far sends back what comes, until the returned function is
// called: that fails the test if something was lost. By udp no packet may be; by tcp the connection has to
// live.
func (s *site) steady(network string) (stop func()) {
	s.t.Helper()
	const address, length = "10.77.0.254:7788", 16
	far := s.echo(network, address)
	var own net.Conn
	s.do(s.host, func() (err error) {
		own, err = net.Dial(network, address)
		return err
	})
	var mu sync.Mutex
	waiting := map[string]bool{}
	go func() {
		for buffer := make([]byte, length); ; {
			if _, err := io.ReadFull(own, buffer); err != nil {
				return
			}
			mu.Lock()
			if !waiting[string(buffer)] {
				s.t.Errorf("the host's packet %s came back twice", buffer)
			}
			delete(waiting, string(buffer))
			mu.Unlock()
		}
	}()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			packet := fmt.Sprintf("%*d", length, time.Since(began).Microseconds())
			mu.Lock()
			waiting[packet] = true
			mu.Unlock()
			if _, err := own.Write([]byte(packet)); err != nil {
				s.t.Errorf("send from the host after %s us: %v", packet, err)
				return
			}
		}
	}()
	return func() {
		s.t.Helper()
		close(done)
		<-ended
		labtest.Eventually(s.t, "all of the host's packets are back", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(waiting) == 0
		})
		_, _ = own.Close(), far.Close()
	}
}

// echo sends back what comes to an address of far.
func (s *site) echo(network, address string) io.Closer {
	s.t.Helper()
	if network == "udp" {
		var conn net.PacketConn
		s.do(s.far, func() (err error) {
			conn, err = net.ListenPacket(network, address)
			return err
		})
		go func() {
			for buffer := make([]byte, 1500); ; {
				n, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(buffer[:n], from)
			}
		}()
		return conn
	}
	listener := s.listen(s.far, address)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	return listener
}

// do calls f in a namespace.
func (s *site) do(ns string, f func() error) {
	s.t.Helper()
	opened, err := netns.Open("/run/netns/" + ns)
	if err != nil {
		s.t.Fatal(err)
	}
	defer opened.Close()
	if err := opened.Do(f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) listen(ns, address string) net.Listener {
	s.t.Helper()
	var listener net.Listener
	s.do(ns, func() (err error) {
		listener, err = net.Listen("tcp4", address)
		return err
	})
	return listener
}

// dhcp starts the site's server of addresses, which knows machines by their MAC addresses.
func (s *site) dhcp(known map[string]string) {
	s.t.Helper()
	labs.NeedDnsmasq(s.t)
	argv := []string{
		"dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=net0", "--bind-interfaces", "--user=root",
		"--dhcp-authoritative", "--dhcp-leasefile=" + filepath.Join(s.dir, "leases"), "--pid-file=" + filepath.Join(s.dir, "dnsmasq.pid"), "--dhcp-range=10.77.0.100,10.77.0.120,255.255.255.0,1h",
	}
	for mac, address := range known {
		argv = append(argv, "--dhcp-host="+mac+","+address)
	}
	cmd := s.within(s.far, argv...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// sink counts what comes in by one connection.
func (s *site) sink(ns, address string) <-chan int64 {
	s.t.Helper()
	listener := s.listen(ns, address)
	got := make(chan int64, 1)
	go func() {
		defer listener.Close()
		conn, err := listener.Accept()
		if err != nil {
			got <- -1
			return
		}
		n, _ := io.Copy(io.Discard, conn)
		_ = conn.Close()
		got <- n
	}()
	return got
}

package lab

import (
	"errors"
	"strings"
	"testing"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestNodesHaveTheKernelsDefaults: whatever the host's own settings of interfaces are, which new networks take, all
// networks of a lab have the kernel's.
func TestNodesHaveTheKernelsDefaults(t *testing.T) {
	labtest.Root(t)
	labtest.WholeHost(t) // which it sets up
	for name, value := range map[string]string{
		"net/core/devconf_inherit_init_net": "1", // so that IPv6 takes the host's, too
		"net/ipv4/conf/default/arp_notify":  "1", "net/ipv4/conf/all/secure_redirects": "0", "net/ipv4/conf/default/promote_secondaries": "1",
		"net/ipv6/conf/default/ndisc_notify": "1",
	} {
		setOnHost(t, name, value)
	}
	lab := up(t, labs.Star("bridge", 2, 1500))
	pids := map[string]int{"the fabric": lab.FabricPID()}
	for _, n := range lab.Plan().Nodes {
		pids[n.Name] = lab.PID(n.Name)
	}
	for of, pid := range pids {
		ns, err := netns.OfProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		other, err := ns.Inherited()
		for _, s := range other {
			if !strings.HasSuffix(s.Name, "/disable_ipv6") && s.Name != "net/ipv6/conf/default/accept_ra" {
				t.Errorf("%s has not %s=%s", of, s.Name, s.Value)
			}
		}
		if err := errors.Join(err, ns.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lo", "eth"} {
		if now := in(t, lab, "n1", "cat", "/proc/sys/net/ipv4/conf/"+name+"/arp_notify"); now != "0" {
			t.Errorf("%s has arp_notify=%s", name, now)
		}
	}
}

// setOnHost writes a sysctl of the host, for the length of the test.
func setOnHost(t *testing.T, name, value string) {
	t.Helper()
	was, err := netns.ReadSysctl(name)
	if err == nil {
		t.Cleanup(func() {
			if err := netns.WriteSysctl(name, was); err != nil {
				t.Error(err)
			}
		})
		err = netns.WriteSysctl(name, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUpWaitsForWhatTheKernelAdds: when a lab is up, each address can be used at once, those that the kernel makes
// itself included, and no router is followed. The file can ask for both.
func TestUpWaitsForWhatTheKernelAdds(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `
name: tbreadyip6
topology:
  nodes:
    a: {addresses: {e: ["fd00::1/64"]}}
    b: {addresses: {e: ["fd00::2/64"]}, sysctls: {net.ipv6.conf.e.accept_dad: "1", net.ipv6.conf.e.accept_ra: "2"}}
  links: [{kind: bridge, endpoints: ["a:e", "b:e"]}]
`)
	for node, want := range map[string]string{"a": "0 0", "b": "1 2"} {
		if out := in(t, lab, node, "ip", "-6", "addr", "show", "dev", "e"); strings.Contains(out, "tentative") || !strings.Contains(out, "fe80::") {
			t.Errorf("%s has %s", node, out)
		}
		now := in(t, lab, node, "cat", "/proc/sys/net/ipv6/conf/e/accept_dad", "/proc/sys/net/ipv6/conf/e/accept_ra")
		if got := strings.Join(strings.Fields(now), " "); got != want {
			t.Errorf("%s has accept_dad and accept_ra %s, want %s", node, got, want)
		}
	}
}

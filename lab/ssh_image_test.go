package lab

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestLogInToABuiltImage: an image with ssh: true that is built here has a server in a container of LXC and
// in one of the OCI's, and its C library knows the names of all nodes.
//
//	a:x ──v, veth── b:x        a:mgmt, b:mgmt ──bridge── host
func TestLogInToABuiltImage(t *testing.T) {
	labtest.LongForm(t)
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	labs.NeedSSHServer(t)
	_, err := exec.LookPath("mmdebstrap")
	labtest.Require(t, "mmdebstrap", err == nil)
	if os.Getenv("NINES_CACHE_DIR") == "" { // else of a cache that someone has filled
		t.Setenv("NINES_CACHE_DIR", t.TempDir())
	}
	mine := newKey(t, "mine")
	lab := up(t, `name: tbsshimage
images: {debian: {from: bookworm, ssh: true}}
topology:
  nodes:
    a: {runtime: lxc, image: debian}
    b: {runtime: oci, image: debian, init: nines}
  links:
    - {name: v, endpoints: ["a:x", "b:x"]}
management: {dns: false, ssh_keys: [`+mine+`.pub]}
`)
	p := lab.Plan()
	for _, n := range p.Nodes {
		address := p.ManagementAddress(n)
		if out, err := byClient(mine, lab.State().KnownHosts(), address, "cat", "/etc/debian_version", "/etc/hostname"); err != nil || !strings.HasPrefix(out, "12.") {
			t.Errorf("node %s by a user's key: %q, %v", n.Name, out, err)
		}
		if out, err := byNines(lab, n.Name, "hostname"); err != nil || out != n.HostName {
			t.Errorf("node %s by nines: %q, %v; want %s", n.Name, out, err, n.HostName)
		}
		names := p.NamesFor(n.Name)
		if len(names) < 2 {
			t.Errorf("node %s knows few names: %v", n.Name, names)
		}
		for _, name := range names {
			out, err := byClient(mine, lab.State().KnownHosts(), address, "getent", "hosts", name.Name)
			if err != nil || !slices.Contains(strings.Fields(out), name.Addresses[0].String()) {
				t.Errorf("in node %s %s is %q, %v; want %s", n.Name, name.Name, out, err, name.Addresses[0])
			}
		}
	}
	if bad := problems(t, lab); len(bad) > 0 {
		t.Error(bad)
	}
	downWithoutTrace(t, lab)
}

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestBothEndsReachTheMiddleByName: all nodes have one hosts file, and b has an address on either link. The C
// library of GNU and BusyBox take the one that a route leads to, and the order of the file is right for one
// end only.
//
//	a:x ──v── b:x   b:y ──w── c:y
func TestBothEndsReachTheMiddleByName(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	for _, runtime := range []string{"netns", "lxc"} { // the host's programs, and BusyBox
		lab := up(t, fmt.Sprintf(`name: tbends%s
topology:
  nodes:
    a: {runtime: %s, addresses: {x: [10.83.1.1/24]}}
    b: {runtime: netns, addresses: {x: [10.83.1.2/24], y: [10.83.2.1/24]}}
    c: {runtime: %s, addresses: {y: [10.83.2.2/24]}}
  links:
    - {name: v, kind: veth, endpoints: ["a:x", "b:x"]}
    - {name: w, kind: veth, endpoints: ["b:y", "c:y"]}
`, runtime, runtime, runtime))
		for node, want := range map[string]string{"a": "10.83.1.2", "c": "10.83.2.1"} {
			if out := in(t, lab, node, "ping", "-c1", "-W5", "b"); !strings.Contains(out, "("+want+")") {
				t.Errorf("%s, from %s: %s, want %s", runtime, node, out, want)
			}
			if runtime == "netns" { // gethostbyname(3), getaddrinfo(3) for one family, and for any
				for _, database := range []string{"hosts", "ahostsv4", "ahosts"} {
					out := in(t, lab, node, "getent", database, "b")
					if first := strings.Fields(out)[0]; first != want {
						t.Errorf("getent %s from %s: %s, want %s first", database, node, out, want)
					}
				}
			}
			in(t, lab, node, "ping", "-c1", "-W5", lab.Plan().Node(node).HostName)
			if said := in(t, lab, node, "sh", "-c", "echo 10.83.9.9 b 2>&1 >> /etc/hosts || true"); !strings.Contains(strings.ToLower(said), "read-only") {
				t.Errorf("%s can write to everyone's hosts file: %q", node, said)
			}
		}
	}
}

// TestANodeOfAnImageHasItsOwnHostsFile: its C library may take the first line, as musl does. It is the address
// on the link that both have.
//
//	a:x ──v── b:x   b:y ──w── c:y
func TestANodeOfAnImageHasItsOwnHostsFile(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	image := labs.OCIImage(t, v1.Config{})
	lab := up(t, fmt.Sprintf(`name: tbownhosts
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: netns, addresses: {x: [10.83.1.2/24], y: [10.83.2.1/24]}}
    c: {runtime: oci, image: %q, init: nines}
  links:
    - {name: v, kind: veth, endpoints: ["a:x", "b:x"]}
    - {name: w, kind: veth, endpoints: ["b:y", "c:y"]}
`, image))
	said := in(t, lab, "c", "cat", "/etc/hosts")
	if near, far := strings.Index(said, "10.83.2.1 b\n"), strings.Index(said, "10.83.1.2 b\n"); near < 0 || far < near {
		t.Errorf("c reads:\n%s", said)
	}
	in(t, lab, "c", "sh", "-c", "echo 10.83.9.9 elsewhere >> /etc/hosts")
	if text, err := os.ReadFile(filepath.Join(lab.State().Dir, "shared-names", "hosts")); err != nil || strings.Contains(string(text), "elsewhere") {
		t.Errorf("what c wrote, others read: %v\n%s", err, text)
	}
}

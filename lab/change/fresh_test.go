package change

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/plans"
)

// TestOnlyAnotherNetworkRebuildsANode: what changes of a node b on a link with a. It is pure.
func TestOnlyAnotherNetworkRebuildsANode(t *testing.T) {
	const text = `
name: tbfreshplan
topology:
  nodes:
    a: {}
    b: {NODE}
  links: [{name: wire, kind: bridge, endpoints: ["a:eth", "b:eth"]}]
`
	const fresh, replaced, adjusted = "fresh", "replaced", "adjusted"
	for _, change := range []struct{ from, to, want string }{
		{"runtime: netns", "runtime: netns", ""},
		{"runtime: netns", "runtime: netns, memory: 64MiB", fresh},
		{"runtime: netns", "runtime: netns, mounts: [{source: /srv, target: /mnt}]", fresh},
		{"runtime: netns", "runtime: netns, privileged: true", fresh},
		{"runtime: netns", "runtime: lxc", fresh},
		{"runtime: lxc", "runtime: lxc, rootfs: {kind: debian, init: systemd}", fresh},
		{"runtime: lxc", "runtime: oci, image: web", fresh},
		{"runtime: oci, image: web", "runtime: oci, image: other", fresh},
		{"runtime: oci, image: web", "runtime: oci, image: web, driver: docker", fresh},
		{"runtime: oci, image: web", "runtime: oci, image: web, init: nines", fresh},
		{"runtime: oci, image: web", "runtime: oci, image: web, command: [sleep, inf]", fresh},
		{"runtime: oci, image: web", "runtime: netns", fresh},
		{"sysctls: {kernel.msgmax: \"9000\"}", "runtime: netns", fresh},
		{"sysctls: {net.ipv4.ip_default_ttl: \"65\"}", "runtime: netns", replaced},
		{"sysctls: {net/ipv4/ip_default_ttl: \"65\"}", "runtime: netns, memory: 64MiB", replaced},
		{"sysctls: {net.ipv4.ip_default_ttl: \"65\"}", "sysctls: {net.ipv4.ip_default_ttl: \"66\"}", adjusted},
		{"runtime: netns", "runtime: host", replaced},
		{"runtime: host", "runtime: lxc", replaced},
		{"runtime: lxc", "runtime: vm", replaced},
		{"runtime: vm", "runtime: netns", replaced},
		{"runtime: vm", "runtime: vm, memory: 1GiB", fresh},
		{"runtime: vm", "runtime: vm, sysctls: {kernel.pid_max: \"4242\"}", fresh},
		{"runtime: vm, sysctls: {net.ipv4.ip_default_ttl: \"65\"}", "runtime: vm", fresh},
	} {
		of := func(node string) *plan.Plan { return plans.Of(t, strings.Replace(text, "NODE", node, 1)) }
		got := Compare(of(change.from), of(change.to))
		for list, want := range map[string][]string{fresh: got.FreshNodes, replaced: got.ReplacedNodes, adjusted: got.Adjusted} {
			if has := slices.Equal(want, []string{"b"}); has != (list == change.want) || !has && len(want) > 0 {
				t.Errorf("from %q to %q, %s: %q, and it is to be %q", change.from, change.to, list, want, change.want)
			}
		}
		others := len(got.AddedNodes) + len(got.RestartedApps) + len(got.ReplacedLinks) + len(got.AddedLinks) + len(got.Watched) + len(got.Logins)
		if others > 0 || (len(got.AddedEndpoints) > 0) != (change.want == replaced) {
			t.Errorf("from %q to %q: %+v", change.from, change.to, got)
		}
	}
}

// TestWhatStartsAfreshIsInNoOtherList: its engine, its receive modes and its watcher begin with it, and
// disturbances of engines do. It is pure.
func TestWhatStartsAfreshIsInNoOtherList(t *testing.T) {
	const text = `
name: tbfreshlists
topology:
  nodes:
    a: {}
    b: {memory: 64MiB, app: {kind: reflect, backend: raw}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
disturb:
  it: {kind: stop, node: b, period: 10s, length: 1ms}
`
	to := strings.Replace(text, "memory: 64MiB, app: {kind: reflect, backend: raw}", "memory: 65MiB, app: {kind: reflect, backend: udp}, restart: always, routes: [{to: 203.0.113.0/24, interface: eth}], sysctls: {net.ipv4.ip_default_ttl: \"65\"}", 1)
	got := Compare(plans.Of(t, text), plans.Of(t, to))
	if !slices.Equal(got.FreshNodes, []string{"b"}) || !got.Disturbances || len(got.RestartedApps)+len(got.Watched)+len(got.Adjusted)+len(got.Received)+len(got.ReplacedNodes) > 0 {
		t.Errorf("the changes are %+v", got)
	}
}

// TestCardsArePreparedForTheirNode: their functions and device files, and where its CPUs are. It is pure.
func TestCardsArePreparedForTheirNode(t *testing.T) {
	of := func(kind spec.LinkKind) differ {
		to := &plan.Plan{Links: []plan.Link{{Name: "wire", Kind: kind}}}
		return differ{to: to, is: to.Index()}
	}
	node := plan.Node{Name: "b", Runtime: spec.RuntimeNetns, CPUs: []int{1}, Interfaces: []plan.Interface{{Name: "eth", Link: "wire"}}}
	memory, cpus, functions, devices := node, node, node, node
	memory.MemoryBytes, cpus.CPUs = 1<<30, []int{2}
	functions.Functions, devices.Devices = []string{"0000:01:00.0"}, []string{"/dev/vfio/7"}
	for _, c := range []struct {
		what  string
		kind  spec.LinkKind
		other plan.Node
		keeps bool
	}{
		{"memory, on a card", spec.LinkPassthrough, memory, true},
		{"CPUs, on a card", spec.LinkPassthrough, cpus, false},
		{"CPUs, on a veth", spec.LinkVeth, cpus, true},
		{"a function", spec.LinkPassthrough, functions, false},
		{"a device file", spec.LinkVeth, devices, false},
	} {
		d := of(c.kind)
		if got := d.keepsNetwork(node, c.other); got != c.keeps {
			t.Errorf("%s: it keeps its network: %v", c.what, got)
		}
	}
}

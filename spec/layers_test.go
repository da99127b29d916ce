package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A layer with mistakes reports all of them with their places, and later layers report nothing.
func TestLayers(t *testing.T) {
	const head = "name: lab\n"
	tests := map[string]struct {
		text string
		want []string // line:column: path
	}{
		"keys and types": {
			`topology:
  nodes: {a: {runtime: vim, cpu_list: 3-1}, B_: {app: reflect}, c: {app: {kind: forward}}}
  links:
    - {endpoints: ["a:e", "b:"], kind: {}}
    - {name: x, endpoints: ["a:f", "d:e"], parent: eth0}
traffic: {from: "a:h", to: "b:e", rat_pps: 1000, frame_bytes: 1}
repeat: 0
sweep: {nodes.*.app.wait: [spun]}
`, []string{
				"3:24: topology.nodes.a.runtime", "3:39: topology.nodes.a.cpu_list", "3:45: topology.nodes.B_", "3:55: topology.nodes.B_.app",
				"5:27: topology.links.0.endpoints.1", "5:40: topology.links.0.kind", "7:35: traffic.rat_pps", "7:63: traffic.frame_bytes", "8:9: repeat",
			},
		},
		"what is in a section whose key is mistyped": {
			`topolgy:
  nodes: {a: {runtim: lxc, cpus: -1}, b: {}}
  lnks:
    - {endpoints: ["a:e", "c"]}
trafic: {from: "a:h", to: 1, rate_pps: 1000}
repeat: 0
`, []string{
				"2:1: topolgy", "3:15: topology.nodes.a.runtim", "3:34: topology.nodes.a.cpus", "4:3: topology.lnks",
				"5:27: topology.links.0.endpoints.1", "6:1: trafic", "6:27: traffic.to", "7:9: repeat",
			},
		},
		"the sweep": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{name: l, endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:x", frame_bytes: 1518}
sweep:
  traffic.rate_pps: [1000, fast]
  links.m.kind: [veth]
  links.*.kind: [veth, brigde]
  nodes.c: [{runtime: lxc}, {runtime: lcx}]
`, []string{"7:28: sweep.traffic.rate_pps.1", "8:3: sweep.links.m.kind", "9:24: sweep.links.*.kind.1", "10:39: sweep.nodes.c.1.runtime"},
		},
		"the types of each run": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{name: l, endpoints: ["a:e", "c:e"]}]
sweep:
  traffic.burst: [1, 2]
  links.l.passthrough.driver: [vfio-pci]
`, []string{"6:19: traffic", "6:19: traffic", "6:22: traffic", "6:22: traffic", "7:32: topology.links.0.passthrough"},
		},
		"values and one another": {
			`topology:
  nodes: {a: {}, b: {}}
  links:
    - {name: x, endpoints: ["a:e", "b:e"], parent: eth0}
    - {name: x, endpoints: ["a:f", "b:e"]}
    - {endpoints: ["a:g", "c:e"]}
traffic: {from: "a:h", to: "b:e", rate_pps: 1000, rate_bits: 1Mbit/s}
`, []string{
				"5:52: topology.links.0.parent", "6:14: topology.links.1.name", "6:36: topology.links.1.endpoints.1",
				"7:27: topology.links.2.endpoints.1", "8:17: traffic.from", "8:62: traffic.rate_bits",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := mustLoad(t, head+test.text).Runs()
			if got := placesOf(t, err); !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q\n%v", got, test.want, err)
			}
		})
	}
}

// placesOf lists the errors' places and keys.
func placesOf(t *testing.T, err error) []string {
	t.Helper()
	errs, ok := AsErrors(err)
	if !ok {
		t.Fatalf("not errors of the file: %v", err)
	}
	var places []string
	for _, e := range errs {
		places = append(places, strconv.Itoa(e.Line)+":"+strconv.Itoa(e.Column)+": "+e.Path)
	}
	return places
}

// Any single broken value in a valid file causes exactly one error.
func TestOneBrokenValueIsOneError(t *testing.T) {
	for _, path := range files(t, "testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/quick/*.yaml") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Load(path, data)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := whole.Runs()
		if err != nil {
			t.Fatal(err)
		}
		if len(runs)*whole.root.size() > 500 {
			continue // breaking each value in each run would take minutes
		}
		t.Run(filepath.Base(path), func(t *testing.T) { breakAll(t, whole, whole.root, nil) })
	}
}

// breakAll breaks each value below n in turn.
func breakAll(t *testing.T, whole *File, n *node, steps []string) {
	t.Helper()
	for _, e := range n.entries {
		here := under(steps, e.key.text)
		breakOne(t, whole, e.value, here)
		misspell(t, whole, e.value, here)
		breakAll(t, whole, e.value, here)
	}
	for i, item := range n.items {
		here := under(steps, strconv.Itoa(i))
		breakOne(t, whole, item, here)
		breakAll(t, whole, item, here)
	}
}

// breakOne replaces one value by wrong ones; a replacement that is accepted is no failure.
func breakOne(t *testing.T, whole *File, n *node, steps []string) {
	t.Helper()
	for what, value := range map[string]*node{
		"no value":      {kind: scalar, tag: "!!null", place: n.place},
		"another shape": {kind: list, place: n.place, items: []*node{{kind: list, place: n.place}}},
		"junk":          {kind: scalar, tag: "!!str", text: "\x01?", place: n.place},
	} {
		errs := errorsOf(whole, whole.root.with(steps, value))
		if n.kind == list && value.kind == list || len(errs) < 2 {
			continue
		}
		if slices.ContainsFunc(errs, func(e *Error) bool { return e.Path == quotedPath(steps) }) {
			t.Errorf("%s: %s gives\n%v", strings.Join(steps, "."), what, errs)
		}
	}
}

// misspell renames one key. A required key is also reported as missing if no key resembles it.
func misspell(t *testing.T, whole *File, n *node, steps []string) {
	t.Helper()
	last := len(steps) - 1
	for _, name := range []string{steps[last] + "x", "somethingelse"} {
		errs := errorsOf(whole, whole.root.with(steps, nil).with(under(steps[:last], name), n))
		if len(errs) == 0 || !slices.ContainsFunc(errs, func(e *Error) bool { return e.Problem == "unknown key" }) {
			continue // the user's own names
		}
		for _, e := range errs {
			if e.Problem != "unknown key" && !strings.HasSuffix(e.Problem, "is missing") {
				t.Errorf("%s as %s gives\n%v", strings.Join(steps, "."), name, errs)
				break
			}
		}
	}
}

func errorsOf(whole *File, root *node) Errors {
	_, err := (&File{name: whole.name, root: root}).Runs()
	errs, _ := AsErrors(err)
	return errs
}

package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Faults that have nothing to do with one another are told at once, by place; each with
// what it says when it is alone.
func TestIndependentFaultsAreToldAtOnce(t *testing.T) {
	const head = "name: lab\n"
	tests := map[string]struct {
		text string
		want []string // line:column: path
	}{
		"a kind, and what does not depend on it": {
			`topology:
  nodes: {a: {}, b: {}}
  links:
    - {name: x, endpoints: ["a:e", "b:e"], kind: vth}
    - {name: x, endpoints: ["a:f", "b:e"]}
    - {endpoints: ["a:g", "c:e"]}
traffic: {from: "a:h", to: "b:e", rate_pps: 1000}
`, []string{
				"5:50: topology.links.0.kind", "6:14: topology.links.1.name", "6:36: topology.links.1.endpoints.1",
				"7:27: topology.links.2.endpoints.1", "8:17: traffic.from",
			},
		},
		"what is in a section whose key is mistyped": {
			`topolgy:
  nodes: {a: {runtim: lxc, cpus: -1}, b: {}}
  lnks:
    - {endpoints: ["a:e", "c:e"]}
trafic: {from: "a:h", to: "b:e", rate_pps: 1000}
repeat: 0
`, []string{
				"2:1: topolgy", "3:15: topology.nodes.a.runtim", "3:34: topology.nodes.a.cpus", "4:3: topology.lnks",
				"5:27: topology.links.0.endpoints.1", "6:1: trafic", "6:16: traffic.from", "6:27: traffic.to", "7:9: repeat",
			},
		},
		"the sweep and the rest": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{name: l, endpoints: ["a:e", "b:e"]}]
traffic: {from: "a:e", to: "b:x", frame_bytes: 1}
sweep:
  traffic.rate_pps: [1000, fast]
  links.m.kind: [veth]
  links.*.kind: [veth, brigde]
repeat: 0
`, []string{"5:48: traffic.frame_bytes", "7:28: sweep.traffic.rate_pps.1", "8:3: sweep.links.m.kind", "9:24: sweep.links.*.kind.1", "10:9: repeat"},
		},
		"nothing is concluded from what is not there": {
			`topology:
  nodes: {a: {runtime: vim}, b: {app: reflect}, c: {app: {kind: forward}}}
  links: [{endpoints: ["a:e", "b:"]}, {endpoints: ["a:f", "c:e"], parent: eth0, kind: {}}]
traffic: {from: "a:e", to: "a:e", rat_pps: 1000}
sweep: {nodes.*.app.wait: [spin]}
`, []string{"3:24: topology.nodes.a.runtime", "3:39: topology.nodes.b.app", "4:31: topology.links.0.endpoints.1", "4:87: topology.links.1.kind", "5:35: traffic.rat_pps"},
		},
		"a node that a sweep adds with a wrong value": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "c:e"]}, {endpoints: ["c:f", "b:e"]}, {endpoints: ["a:f", "d:e"]}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1000}
disturb:
  one: {kind: stop, node: c, period: 1s, length: 1ms}
  two: {kind: stop, node: e, period: 1s, length: 1ms}
sweep: {nodes.c: [{runtime: lxc, app: {kind: forward}}, {runtime: lcx}]}
`, []string{"4:89: topology.links.2.endpoints.1", "8:27: disturb.two.node", "9:67: sweep.nodes.c.1.runtime"},
		},
		"two virtual machines on links whose kinds are not known": {
			`topology:
  nodes: {a: {runtime: vm}, b: {runtime: vm}}
  links:
    - {endpoints: ["a:e", "b:e"], knd: bridge}
    - {endpoints: ["a:f", "b:f"]}
    - {endpoints: ["a:g", "b:g"]}
sweep: {links.1.kind: [bridge, brigde]}
`, []string{"5:35: topology.links.0.knd", "7:19: topology.links.2.endpoints", "8:32: sweep.links.1.kind.1"},
		},
		"all frame sizes, where another was swept": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:e"}
method: {kind: rfc2544}
sweep: {traffic.frame_bytes: [64, fast]}
`, []string{"7:35: sweep.traffic.frame_bytes.1"},
		},
		"all frame sizes, where one was to be given": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:e", frame_byts: 64}
method: {kind: rfc2544}
`, []string{"5:35: traffic.frame_byts"},
		},
		"all frame sizes, where the method is swept": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:e"}
method: {kind: rfc2544}
sweep: {method.kind: [tst009, tst09]}
`, []string{"7:31: sweep.method.kind.1"},
		},
		"an MTU in place of which others were swept": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1, frame_bytes: 1518}
sweep: {links.*.mtu: [9000, big]}
`, []string{"6:29: sweep.links.*.mtu.1"},
		},
		"frames in place of which others were swept": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], mtu: 1000}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1, frame_bytes: 1518}
sweep: {traffic.frame_bytes: [64, fast]}
`, []string{"6:35: sweep.traffic.frame_bytes.1"},
		},
		"a runtime in place of which others were swept": {
			`topology:
  nodes: {a: {runtime: vm}, b: {}}
  links: [{endpoints: ["a:e", "b:e"], kind: macvlan}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1, packets: record}
sweep: {nodes.a.runtime: [netns, lcx]}
`, []string{"6:34: sweep.nodes.a.runtime.1"},
		},
		"records of packets in place of which none were swept": {
			`topology:
  nodes: {a: {runtime: vm}, b: {app: {kind: reflect}}}
  links: [{endpoints: ["a:e", "b:e"]}]
traffic: {from: "a:e", to: "a:e", rate_pps: 1, packets: record}
sweep: {traffic.packets: [none, al]}
`, []string{"6:33: sweep.traffic.packets.1"},
		},
		"a backend in place of which others were swept": {
			`topology:
  nodes: {a: {}, b: {rx: threaded}}
  links: [{endpoints: ["a:e", "b:e"], kind: switch, rx: {"a:e": threaded}}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1, backend: dpdk}
sweep: {traffic.backend: [udp, dpkd]}
`, []string{"6:32: sweep.traffic.backend.1"},
		},
		"a device in place of which others were swept": {
			`topology:
  nodes: {a: {runtime: vm}, b: {rx: threaded, app: {kind: reflect}}}
  links: [{endpoints: ["a:e", "b:e"]}]
traffic: {from: "a:e", to: "a:e", rate_pps: 1, backend: dpdk}
dpdk: {device: {"a:e": net_null0, "b:e": net_null1}}
sweep: {dpdk: [{}, {devise: {}}]}
`, []string{"7:21: sweep.dpdk.1.devise"},
		},
		"a kind in place of which others were swept": {
			`topology:
  nodes: {a: {}, b: {rx: threaded}}
  links: [{endpoints: ["a:e", "b:e"], kind: memif}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1}
sweep: {links.*.kind: [veth, brigde]}
`, []string{"6:30: sweep.links.*.kind.1"},
		},
		"a rate's bound in place of which others were swept": {
			`topology:
  nodes: {a: {}, b: {}}
  links: [{endpoints: ["a:e", "b:e"]}]
traffic: {from: "a:e", to: "b:e", frame_bytes: 64}
method: {kind: rfc2544, min_rate_pps: 1000, max_rate_pps: 10}
sweep: {method.max_rate_pps: [2000, fast]}
`, []string{"7:37: sweep.method.max_rate_pps.1"},
		},
		"values in place of which others were swept": {
			`topology:
  nodes: {a: {runtime: vm, memory: 64MiB}, b: {}, c: {cpu_list: 3-1}}
  links: [{name: l, endpoints: ["a:e", "b:e"], rx: {"b:e": awake, "b:x": awake}}, {name: m, endpoints: ["a:f", "b:f"], kind: switch, mtu: 9200}]
sweep:
  nodes.a.memory: [1GiB, much]
  links.l.rx: [{"b:e": awake}, {"b:e": away}]
  links.m.mtu: [1500, big]
`, []string{"3:65: topology.nodes.c.cpu_list", "6:26: sweep.nodes.a.memory.1", "7:40: sweep.links.l.rx.1.b:e", "8:23: sweep.links.m.mtu.1"},
		},
		"backends, and what does not depend on them": {
			`topology:
  nodes: {a: {}, b: {rx: threaded}}
  links: [{endpoints: ["a:e", "b:e"], kind: switch}, {endpoints: ["a:f", "b:f"], kind: memif}]
traffic: {from: "a:e", to: "b:e", rate_pps: 1, backend: dpdk, frame_bytes: 1}
`, []string{"3:26: topology.nodes.b.rx", "3:26: topology.nodes.b.rx", "4:67: topology.links.1.endpoints.0", "4:74: topology.links.1.endpoints.1", "5:76: traffic.frame_bytes"},
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

// Whatever single value of a right file is broken, in whatever way, one error says so and
// no other follows from it.
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
			continue // each value of it, in each run, would take minutes
		}
		t.Run(filepath.Base(path), func(t *testing.T) { breakAll(t, whole, whole.root, nil) })
	}
}

// A fault elsewhere hides nothing of what is wrong with a file.
func TestAnotherFaultHidesNothing(t *testing.T) {
	for _, path := range files(t, "testdata/invalid/*.yaml") {
		f, err := Load(filepath.Base(path), read(t, path))
		if err != nil || f.root.get("order") != nil {
			continue // it is no YAML, which is told alone; or has an order that the other would take away
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			alone := errorsOf(f, f.root)
			both := errorsOf(f, f.root.with([]string{"order"}, &node{kind: scalar, tag: "!!str", text: "shuffled", place: f.root.place}))
			if len(both) != len(alone)+1 && len(both) < maxErrors {
				t.Errorf("with order: shuffled\n%v\nand without\n%v", both, alone)
			}
		})
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

// breakOne replaces one value by what it cannot be; where it can, nothing is to be seen.
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

// misspell renames one key. A required one is missed if nothing like it is there.
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

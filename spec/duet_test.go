package spec

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// duetLab has two devices in a row, one beside the path, and one that is joined to nothing.
const duetLab = `name: lab
topology:
  nodes:
    gen: {addresses: {tx: [10.0.0.1/24]}}
    one: {app: {kind: route}, addresses: {in: [10.0.0.2/24]}}
    two: {app: {kind: forward}}
    beside: {}
    alone: {}
  links:
    - {name: in, endpoints: ["gen:tx", "one:in"], rx: {"one:in": threaded}}
    - {name: mid, endpoints: ["one:out", "two:in"], impair_from: {"two:in": {delay: 1ms}}}
    - {name: out, endpoints: ["two:out", "gen:receive-port"]}
    - {name: side, endpoints: ["one:x", "beside:x"]}
    - {name: off, endpoints: ["gen:o", "alone:o"]}
traffic: {from: "gen:tx", to: "gen:receive-port", rate_pps: 1000, wait: spin}
disturb: {noise: {kind: spin, node: two}}
duet: {a: {links.mid.kind: veth}, b: {links.mid.kind: bridge, traffic.wait: block, nodes.two.app.io: batch}}
`

// TestSideBySide: the path is built twice, with what is joined to it; the sender once.
func TestSideBySide(t *testing.T) {
	e, err := mustLoad(t, duetLab).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	nodes := slices.Sorted(maps.Keys(e.Topology.Nodes))
	if want := []string{"alone", "beside@a", "beside@b", "gen", "one@a", "one@b", "two@a", "two@b"}; !slices.Equal(nodes, want) {
		t.Errorf("nodes %v, want %v", nodes, want)
	}
	var links []string
	for _, l := range e.Topology.Links {
		links = append(links, strings.Join(append([]string{l.Name, string(l.Kind)}, l.Endpoints...), " "))
	}
	want := []string{
		"in@a veth gen:tx@a one@a:in", "in@b veth gen:tx@b one@b:in",
		"mid@a veth one@a:out two@a:in", "mid@b bridge one@b:out two@b:in",
		"out@a veth two@a:out gen:receive--" + "@a", "out@b veth two@b:out gen:@b",
		"side@a veth one@a:x beside@a:x", "side@b veth one@b:x beside@b:x",
		"off veth gen:o alone:o",
	}
	for i, link := range links {
		if strings.HasPrefix(link, "out@") {
			if name := link[strings.LastIndex(link, ":")+1:]; len(name) > 15 || !strings.HasPrefix(name, "receive-") || !strings.Contains(name, "@") {
				t.Errorf("the interface %q", name)
			}
			continue
		}
		if link != want[i] {
			t.Errorf("link %s, want %s", link, want[i])
		}
	}
	a, b := e.Duet.Sides[0].Traffic, e.Duet.Sides[1].Traffic
	if a.From != "gen:tx@a" || b.From != "gen:tx@b" || a.Wait != WaitSpin || b.Wait != WaitBlock || a.Duration != e.Duet.For || e.Duet.For != 20e9 {
		t.Errorf("traffic %+v and %+v", a, b)
	}
	if e.Topology.Nodes["two@a"].App.IO != IOSingle || e.Topology.Nodes["two@b"].App.IO != IOBatch || e.Topology.Nodes["two@b"].App.Wait != WaitBlock {
		t.Error("the apps of both sides")
	}
	if got := e.Topology.Nodes["gen"].Addresses; !reflect.DeepEqual(got, map[string][]string{"tx@a": {"10.0.0.1/24"}}) {
		t.Errorf("addresses of gen %v", got)
	}
	if e.Topology.Nodes["one@a"].Addresses == nil || e.Topology.Nodes["one@b"].Addresses != nil {
		t.Error("both sides have an address")
	}
	if in := e.Topology.Links[1]; in.RX["one@b:in"] != ReceiveThreaded || len(in.RX) != 1 {
		t.Errorf("rx %v", in.RX)
	}
	if mid := e.Topology.Links[3]; mid.ImpairFrom["two@b:in"] == nil || len(mid.ImpairFrom) != 1 {
		t.Errorf("impairments %v", mid.ImpairFrom)
	}
	if e.Disturb["noise@a"].Node != "two@a" || e.Disturb["noise@b"].Node != "two@b" || len(e.Disturb) != 2 {
		t.Errorf("disturbances %v", e.Disturb)
	}
	if !slices.Equal(e.Duet.Ask, defaultAsk) || *e.Duet.Least != (Least{0.01, 20}) {
		t.Errorf("%v, %+v", e.Duet.Ask, e.Duet.Least)
	}
	if text := e.Duet.Sides[1].SettingsText(); text != "links.mid.kind=bridge, traffic.wait=block, nodes.two.app.io=batch" {
		t.Errorf("settings %q", text)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
}

// TestADuetOfEqualSides: the same on both sides is a duet, too.
func TestADuetOfEqualSides(t *testing.T) {
	f := mustLoad(t, duetLab)
	for _, set := range []string{"duet.a={}", "duet.b={}", "duet.for=2s", "duet.least.latency=1us"} {
		if err := f.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	e, err := f.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	if e.Duet.Sides[0].SettingsText() != "the file as it is" || e.Traffic.Duration != 2e9 || e.Duet.Least.Latency != 1000 || e.Duet.Least.Share != 0.01 {
		t.Errorf("%+v", e.Duet)
	}
}

// TestSetSide: the dots of a key on a side belong to the key.
func TestSetSide(t *testing.T) {
	f := mustLoad(t, duetLab)
	for _, set := range []string{"duet.a.links.*.kind=xdp", "duet.b.links.mid.kind=", "duet.a.links.mid.kind="} {
		if err := f.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	e, err := f.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Duet.Sides[0].SettingsText(); got != "links.*.kind=xdp" {
		t.Errorf("side a is %q", got)
	}
	if got := e.Duet.Sides[1].SettingsText(); got != "traffic.wait=block, nodes.two.app.io=batch" {
		t.Errorf("side b is %q", got)
	}
}

// TestErrorsOfASideHaveTheirPlace: a setting that makes a side wrong is shown where it is written.
func TestErrorsOfASideHaveTheirPlace(t *testing.T) {
	_, err := mustLoad(t, strings.Replace(duetLab, "links.mid.kind: bridge", "links.mid.kind: brigde", 1)).Runs()
	if err == nil || !strings.Contains(err.Error(), "lab.yaml:17:55: duet.b.links.mid.kind") {
		t.Errorf("%v", err)
	}
	runs, err := mustLoad(t, duetLab).Runs()
	if err != nil {
		t.Fatal(err)
	}
	located := runs[0].Located(keyed{"topology", "nodes", "two@b", "app", "io"}).Error()
	if !strings.HasPrefix(located, "lab.yaml:17:102: ") {
		t.Error(located)
	}
}

type keyed []string

func (k keyed) Error() string { return "wrong" }
func (k keyed) Key() []string { return k }

// TestMakeDuet: sides are set where the file has none, and keys of several trials taken out.
func TestMakeDuet(t *testing.T) {
	f := mustLoad(t, setLab+"repeat: 3\n")
	if err := f.Set("nodes.b.app="); err != nil {
		t.Fatal(err)
	}
	if err := f.Set("traffic.to=b:eth0"); err != nil {
		t.Fatal(err)
	}
	left, err := f.MakeDuet([]string{"links.*.kind=veth"}, nil)
	if err != nil || !slices.Equal(left, []string{"sweep", "repeat"}) {
		t.Fatal(left, err)
	}
	e, err := f.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.Duet.Sides[0].SettingsText(), e.Duet.Sides[1].SettingsText(); a != "links.*.kind=veth" || b != "the file as it is" {
		t.Errorf("%q and %q", a, b)
	}
	if _, err := f.MakeDuet([]string{"links.*.kind"}, nil); err == nil || !strings.Contains(err.Error(), "--a links.*.kind: has no value") {
		t.Error(err)
	}
}

// TestDuetOfTwoFiles: what differs between two files are the sides of a duet, which the effective file has, too.
func TestDuetOfTwoFiles(t *testing.T) {
	const text = `name: one
topology:
  nodes: {gen: {}, dut: {runtime: lxc, app: {kind: forward}, sysctls: {net.ipv4.tcp_ecn: "1"}}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"], mtu: 1600}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
`
	changed := strings.NewReplacer("one", "two", "runtime: lxc, ", "", `"1"`, `"2"`, `"dut:in"]`, `"dut:in"], kind: bridge`, "app: {kind: forward}", "app: {kind: forward, io: batch}")
	f, err := DuetOf(mustLoad(t, text), mustLoad(t, changed.Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	effective, err := f.Effective()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{f, mustLoad(t, string(effective))} {
		e, err := f.Experiment()
		if err != nil {
			t.Fatal(err)
		}
		a, b := e.Duet.Sides[0].SettingsText(), e.Duet.Sides[1].SettingsText()
		if want := `nodes.dut.runtime=lxc, nodes.dut.app.io=the default, nodes.dut.sysctls."net.ipv4.tcp_ecn"=1, links.in.kind=the default`; a != want {
			t.Errorf("side a: %s", a)
		}
		if want := `nodes.dut.runtime=the default, nodes.dut.app.io=batch, nodes.dut.sysctls."net.ipv4.tcp_ecn"=2, links.in.kind=bridge`; b != want {
			t.Errorf("side b: %s", b)
		}
		if e.Name != "one" || e.Topology.Nodes["dut@a"].Runtime != RuntimeLXC || e.Topology.Nodes["dut@b"].Sysctls["net.ipv4.tcp_ecn"] != "2" {
			t.Errorf("%+v", e.Topology.Nodes["dut@b"])
		}
	}
	for change, want := range map[string]string{
		"name: one\n":                     "name: one\ntuning: latency\n|lab.yaml:2:9: duet.a.tuning: cannot be different on two sides: it is one for the whole host",
		"rate_pps: 1000":                  "rate_pps: 2000|duet.a.traffic.rate_pps",
		"nodes: {gen: {}":                 "nodes: {more: {}, gen: {}|nodes.more",
		"name: one":                       "name: two|say the same",
		"traffic: {from: \"gen:tx\", to:": "sweep: {traffic.burst: [1]}\ntraffic: {from: \"gen:tx\", to:|one variant each",
	} {
		with, message, _ := strings.Cut(want, "|")
		f, err := DuetOf(mustLoad(t, text), mustLoad(t, strings.Replace(text, change, with, 1)))
		if err == nil {
			_, err = f.Runs()
		}
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", with, err)
		}
	}
}

// TestLabels: the sides are called by the only value that differs, also where one has it from the file.
func TestLabels(t *testing.T) {
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"{links.mid.kind: veth}", "{links.mid.kind: xdp}", "veth", "xdp"},
		{"{}", "{nodes.two.app.kind: route}", "forward", "route"},
		{"{}", "{nodes.beside.runtime: lxc}", "default runtime", "lxc"},
		{"{}", "{links.mid.gro: true}", "default gro", "gro=true"},
		{"{nodes.beside.services: [{name: old, run: [a]}]}", "{nodes.beside.services: [{name: new, run: [a]}]}", "old", "new"},
		{"{links.mid.kind: veth}", "{links.out.kind: xdp}", "side a", "side b"},
		{"{links.mid.mtu: 1500}", "{links.mid.mtu: 9000}", "mtu=1500", "mtu=9000"},
		{"{links.mid.kind: veth}", "{links.mid.kind: veth}", "side a", "side b"},
		{"{}", "{nodes.two.app: {kind: route}}", "side a", "side b"},
	} {
		f := mustLoad(t, duetLab)
		for side, text := range map[string]string{"a": c.a, "b": c.b} {
			if err := f.Set("duet." + side + "=" + text); err != nil {
				t.Fatal(err)
			}
		}
		e, err := f.Experiment()
		if err != nil {
			t.Fatal(err)
		}
		if a, b := e.Duet.Sides[0].Label, e.Duet.Sides[1].Label; a != c.wantA || b != c.wantB {
			t.Errorf("%s and %s: %s and %s", c.a, c.b, a, b)
		}
	}
}

// TestSideBHasTheFilesAddresses wherever two interfaces can have them: not next to a node that has interfaces of both sides.
func TestSideBHasTheFilesAddresses(t *testing.T) {
	e, err := mustLoad(t, `name: lab
topology:
  nodes:
    gen: {addresses: {tx: [10.0.0.1/24], rx: []}, mac: {tx: "02:00:00:00:00:01"}}
    one: {app: {kind: route}, addresses: {in: [10.0.0.2/24], out: [10.1.0.1/24], lo: [10.9.0.1/32]}, mac: {in: "02:00:00:00:00:02"}}
    two: {app: {kind: forward}, addresses: {in: [10.1.0.2/24], out: []}}
  links:
    - {name: in, endpoints: ["gen:tx", "one:in"]}
    - {name: mid, endpoints: ["one:out", "two:in"]}
    - {name: out, endpoints: ["two:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
duet:
  a: {links.mid.kind: veth}
  b: {links.mid.kind: bridge, nodes.two.addresses.out: [10.5.0.1/24]}
`).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) map[string][]string { return e.Topology.Nodes[name].Addresses }
	for name, want := range map[string]map[string][]string{
		"gen":   {"tx@a": {"10.0.0.1/24"}, "rx@a": {}, "rx@b": {}},
		"one@a": {"in": {"10.0.0.2/24"}, "out": {"10.1.0.1/24"}, "lo": {"10.9.0.1/32"}},
		"one@b": {"out": {"10.1.0.1/24"}, "lo": {"10.9.0.1/32"}},
		"two@a": {"in": {"10.1.0.2/24"}, "out": {}},
		"two@b": {"in": {"10.1.0.2/24"}, "out": {"10.5.0.1/24"}},
	} {
		if got := of(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
	if got, want := e.Duet.Replaced, []Replaced{{"gen:tx@b", []string{"10.0.0.1/24"}}, {"one@b:in", []string{"10.0.0.2/24"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("side b cannot have %v, want %v", got, want)
	}
	if got, want := e.Duet.ReplacedMACs, []Replaced{{"gen:tx@b", []string{"02:00:00:00:00:01"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("side b cannot have %v, want %v", got, want)
	}
	if got := e.Topology.Nodes["one@b"].MAC["in"]; got != "02:00:00:00:00:02" {
		t.Errorf("one@b:in has the MAC address %q", got)
	}
}

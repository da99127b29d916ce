package spec

import (
	"strings"
	"testing"
)

// setLab has an example of everything that a path can lead through.
const setLab = `# A comment that stays.
name: lab
topology:
  nodes:
    a: {env: {X: "1"}, addresses: {eth0.1: [10.0.0.1/24]}}
    b: {app: {kind: reflect}}
  links:
    - {name: in, endpoints: ["a:eth0", "b:eth0"]}
    - {endpoints: ["a:eth0.1", "b:eth1"]} # the second
traffic: {from: "a:eth0", to: "a:eth0", rate_pps: 1000}
sweep:
  links.*.kind: [veth, bridge]
  traffic.burst: [1, 2]
`

func TestSet(t *testing.T) {
	for _, c := range []struct {
		set string
		ok  func(e *Experiment) bool
	}{
		{"traffic.rate_pps=2000", func(e *Experiment) bool { return e.Traffic.RatePPS == 2000 }},
		{"nodes.d={}", func(e *Experiment) bool {
			return len(e.Topology.Nodes) == 3 && e.Topology.Nodes["d"].Runtime == RuntimeNetns
		}},
		{"topology.nodes.d={cpus: 2}", func(e *Experiment) bool { return e.Topology.Nodes["d"].CPUs == 2 }},
		{"sweep.nodes.d=[{cpus: 1}, {cpus: 2}]", func(e *Experiment) bool { return e.Topology.Nodes["d"].CPUs == 1 }},
		{"traffic.rate_pps=2M", func(e *Experiment) bool { return e.Traffic.RatePPS == 2e6 }},
		{"traffic.frame_bytes=128", func(e *Experiment) bool { return e.Traffic.FrameBytes == 128 }},
		{"traffic.duration=5s", func(e *Experiment) bool { return e.Traffic.Duration == 5e9 }},
		{"expect=p99 < 1us", func(e *Experiment) bool { return len(e.Expect) == 1 && e.Expect[0] == "p99 < 1us" }},
		{"expect=[p99 < 1us, loss == 0]", func(e *Experiment) bool { return len(e.Expect) == 2 }},
		{"name=other", func(e *Experiment) bool { return e.Name == "other" }},
		{"repeat=7", func(e *Experiment) bool { return e.Repeat == 7 }},
		{"links.*.kind=xdp", func(e *Experiment) bool {
			return e.Topology.Links[0].Kind == LinkXDP && e.Topology.Links[1].Kind == LinkXDP
		}},
		{"topology.links.*.mtu=2000", func(e *Experiment) bool { return e.Topology.Links[1].MTU == 2000 }},
		{"links.in.mtu=2000", func(e *Experiment) bool {
			return e.Topology.Links[0].MTU == 2000 && e.Topology.Links[1].MTU == 0
		}},
		{"links.0.mtu=2000", func(e *Experiment) bool { return e.Topology.Links[0].MTU == 2000 }},
		{"links.link2.mtu=2000", func(e *Experiment) bool { return e.Topology.Links[1].MTU == 2000 }},
		{"links.0.endpoints.1=b:eth9", func(e *Experiment) bool { return e.Topology.Links[0].Endpoints[1] == "b:eth9" }},
		{"nodes.*.cpus=1", func(e *Experiment) bool {
			return e.Topology.Nodes["a"].CPUs == 1 && e.Topology.Nodes["b"].CPUs == 1
		}},
		{"nodes.*.app.wait=spin", func(e *Experiment) bool {
			return e.Topology.Nodes["a"].App == nil && e.Topology.Nodes["b"].App.Wait == WaitSpin
		}},
		{"nodes.*.env.Y=z", func(e *Experiment) bool {
			return e.Topology.Nodes["a"].Env["Y"] == "z" && e.Topology.Nodes["b"].Env["Y"] == "z"
		}},
		{"nodes.a.sysctls.net.ipv4.ip_forward=1", func(e *Experiment) bool {
			return e.Topology.Nodes["a"].Sysctls["net.ipv4.ip_forward"] == "1"
		}},
		{"nodes.a.env.X=a: b", func(e *Experiment) bool { return e.Topology.Nodes["a"].Env["X"] == "a: b" }},
		{"nodes.a.env.X=[", func(e *Experiment) bool { return e.Topology.Nodes["a"].Env["X"] == "[" }},
		{"nodes.a.env.X=k=v", func(e *Experiment) bool { return e.Topology.Nodes["a"].Env["X"] == "k=v" }},
		{`nodes.a.addresses."eth0.1".0=10.9.9.9/24`, func(e *Experiment) bool {
			return e.Topology.Nodes["a"].Addresses["eth0.1"][0] == "10.9.9.9/24"
		}},
		{"nodes.a.env=", func(e *Experiment) bool { return e.Topology.Nodes["a"].Env == nil }},
		{"nodes.a.exec=[[ip, link]]", func(e *Experiment) bool { return e.Topology.Nodes["a"].Exec[0][1] == "link" }},
		{"traffic=", func(e *Experiment) bool { return e.Traffic == nil }},
	} {
		t.Run(c.set, func(t *testing.T) {
			f := mustLoad(t, setLab)
			for _, set := range []string{"sweep=", c.set} {
				if err := f.Set(set); err != nil {
					t.Fatal(err)
				}
			}
			e, err := f.Experiment()
			if err != nil {
				t.Fatal(err)
			}
			if !c.ok(e) {
				text, err := marshal(e)
				t.Errorf("not set: %v\n%s", err, text)
			}
			effective, err := f.Effective()
			if err != nil {
				t.Fatal(err)
			}
			again, err := mustLoad(t, string(effective)).Experiment()
			if err != nil || !c.ok(again) {
				t.Errorf("not in the effective file: %v\n%s", err, effective)
			}
			if !strings.Contains(string(effective), "A comment that stays.") {
				t.Errorf("the comment was lost:\n%s", effective)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for set, want := range map[string]string{
		"traffic.rate_pps":           "--set traffic.rate_pps: has no value; write --set key=value, such as --set traffic.rate_pps=1000",
		"=1":                         "--set =1: has no value; write --set key=value, such as --set traffic.rate_pps=1000",
		"traffic.rate_pp=1":          `--set traffic.rate_pp=1: traffic.rate_pp: unknown key "rate_pp"; did you mean "rate_pps"? allowed: from, to, ip, frame_bytes, rate_pps, rate_bits, rate_of_maximum, pattern, burst, flows, flow_field, port, backend, io, wait, warmup, duration, drain, path_timeout, outliers, …`,
		"nodes.c=":                   `--set nodes.c=: nodes.c: the node to remove does not exist; allowed: a, b`,
		"nodes.c.cpus=1":             `--set nodes.c.cpus=1: nodes.c.cpus: node "c" does not exist; allowed: a, b`,
		"links.out.kind=veth":        `--set links.out.kind=veth: links.out.kind: entry "out" does not exist; allowed: in, link2, or * for all; positions count from 0`,
		"links.2.kind=veth":          `--set links.2.kind=veth: links.2.kind: entry "2" does not exist; allowed: in, link2, or * for all; positions count from 0`,
		"traffic..burst=1":           "--set traffic..burst=1: traffic..burst: a step of the path is empty; allowed: keys joined by dots, such as traffic.rate_pps or links.*.kind",
		`nodes."a.cpus=1`:            `--set nodes."a.cpus=1: nodes."a.cpus: a quote is not closed; allowed: keys joined by dots, such as traffic.rate_pps or links.*.kind`,
		"traffic.burst.x=1":          `--set traffic.burst.x=1: traffic.burst.x: there is nothing below a single value, and so no "x"`,
		"traffic.burst=[1":           "--set traffic.burst=[1: not valid YAML: did not find expected ',' or ']'; check the brackets, quotes and indentation here and just above",
		"links.in.kind=xdp":          `--set links.in.kind=xdp: links.in.kind: the sweep's "links.*.kind" would overwrite this; set links.*.kind itself, or take it out of the sweep: --set 'sweep.links.*.kind='`,
		"nodes.a.exec.0.0=x":         "--set nodes.a.exec.0.0=x: nodes.a.exec.0.0: the list is not in the file; write the list first",
		"nodes.a.mounts.*.source=/x": "--set nodes.a.mounts.*.source=/x: nodes.a.mounts.*.source: matches nothing in the file",
	} {
		f := mustLoad(t, setLab)
		err := f.Set(set)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", set, err, want)
			continue
		}
		if len(f.sets) != 0 {
			t.Errorf("%s: refused, and yet recorded", set)
		}
	}
}

// A value of the wrong type is reported with the --set expression as its place.
func TestSetWrongValue(t *testing.T) {
	f := mustLoad(t, setLab)
	if err := f.Set("traffic.duration=10"); err != nil {
		t.Fatal(err)
	}
	_, err := f.Runs()
	const want = "--set traffic.duration=10: traffic.duration: 10 has no unit; write 10s, 10ms or 10us"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Setting a swept key fixes it: the key leaves the sweep.
func TestSetFixesSweptKey(t *testing.T) {
	f := mustLoad(t, setLab)
	if err := f.Set("traffic.burst=8"); err != nil {
		t.Fatal(err)
	}
	checkRuns(t, f, "links.*.kind=veth", "links.*.kind=bridge")
	if err := f.Set("links.*.kind=xdp"); err != nil {
		t.Fatal(err)
	}
	checkRuns(t, f, "")
}

func TestSetSweep(t *testing.T) {
	f := mustLoad(t, setLab)
	for _, set := range []string{"sweep.links.*.kind=", "sweep.traffic.burst=[4, 8]", "sweep.traffic.frame_bytes=[64]"} {
		if err := f.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	checkRuns(t, f, "traffic.burst=4, traffic.frame_bytes=64", "traffic.burst=8, traffic.frame_bytes=64")
	if err := f.Set("sweep={traffic.flows: [2]}"); err != nil {
		t.Fatal(err)
	}
	checkRuns(t, f, "traffic.flows=2")
}

// Without a change the effective file is the user's file, byte for byte.
func TestEffectiveIsRaw(t *testing.T) {
	f := mustLoad(t, setLab)
	effective, err := f.Effective()
	if err != nil || string(effective) != setLab || string(f.Raw()) != setLab {
		t.Errorf("%v\n%s", err, effective)
	}
}

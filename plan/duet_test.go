package plan

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/golden"
)

// duetKinds are kinds of differences between two sides, by what each sets.
var duetKinds = map[string][]string{
	"link-kind":   {"duet.a.links.*.kind=veth", "duet.b.links.*.kind=bridge"},
	"runtime":     {"duet.b.nodes.dut.runtime=netns"},
	"application": {"duet.b.nodes.dut.app={kind: route}", "traffic.backend=udp"},
	"service": {
		"nodes.dut.app={kind: device, leaves: forwarded}",
		"duet.a.nodes.dut.services=[{name: fwd, run: [/opt/fwd, --batch, '1']}]",
		"duet.b.nodes.dut.services=[{name: fwd, run: [/opt/fwd, --batch, '32']}]",
	},
	"impairments":     {"traffic.backend=udp", "duet.b.links.out.impair={delay: 100us}"},
	"busy-polling":    {"duet.a.traffic.wait=block", "duet.b.traffic.wait=busy_poll"},
	"cpu-arrangement": {"nodes.dut.cpus=", "duet.a.nodes.dut.cpu_list=2", "duet.b.nodes.dut.cpu_list=3"},
	"image":           {"duet.a.nodes.dut.image=forwarder-1", "duet.b.nodes.dut.image=forwarder-2"},
	"switch":          {"duet.b.links.in.kind=switch"},
	"equal":           {},
}

// TestGoldenDuet: a file and what two sides set give one plan, on a machine with CPUs for all and on one with two.
func TestGoldenDuet(t *testing.T) {
	for _, hostName := range []string{"epyc-7551p", "microvm"} {
		for kind, sets := range duetKinds {
			t.Run(hostName+"/"+kind, func(t *testing.T) {
				var b bytes.Buffer
				p, err := Make(loadExperiment(t, "testdata/duets/base.yaml", sets...), loadHost(t, hostName))
				if err != nil {
					b.WriteString("error: " + err.Error() + "\n")
				} else if err := p.Write(&b); err != nil {
					t.Fatal(err)
				}
				golden.Equal(t, filepath.Join("testdata", "duets", hostName+"."+kind+".txt"), b.Bytes())
			})
		}
	}
}

// TestTheSidesAreAlike: what is built twice has as many CPUs on each side, and names and addresses of its own.
func TestTheSidesAreAlike(t *testing.T) {
	for _, hostName := range []string{"epyc-7551p", "laptop-i7-1165g7", "xeon-e5-2640v4", "microvm"} {
		for kind, sets := range duetKinds {
			p, err := Make(loadExperiment(t, "testdata/duets/base.yaml", sets...), loadHost(t, hostName))
			if err != nil {
				continue // TestGoldenDuet has the errors
			}
			taken := map[string]string{}
			for _, n := range p.Nodes {
				plain, side := spec.SideOf(n.Name)
				if twin := p.Node(spec.OnSide(plain, otherSide(side))); side != "" && (len(twin.CPUs) != len(n.CPUs) || twin.CPUsExclusive != n.CPUsExclusive) {
					t.Errorf("%s, %s: %s has the CPUs %v, and %s %v", hostName, kind, n.Name, n.CPUs, twin.Name, twin.CPUs)
				}
				for _, i := range n.Interfaces {
					if len(i.Name) > maxInterfaceName {
						t.Errorf("%s: the name %s", kind, i.Name)
					}
					for _, one := range append([]string{i.MAC}, i.Addresses...) {
						if other := taken[one]; other != "" {
							t.Errorf("%s: %s has %s, as has %s", kind, n.Name+":"+i.Name, one, other)
						}
						taken[one] = n.Name + ":" + i.Name
					}
				}
			}
			streams := p.Streams()
			if len(streams) != 2 || streams[0].From.Node != streams[1].From.Node || streams[0].From.Interface == streams[1].From.Interface {
				t.Errorf("%s: streams %+v", kind, streams)
			}
			for i, s := range streams {
				side := "@" + p.Duet.Sides[i].Name
				if !strings.HasSuffix(s.From.Interface, side) || len(s.Path) != 4 || s.Path[1] != "dut"+side+":in" && s.Path[1] != "dut:in"+side {
					t.Errorf("%s: the path %v", kind, s.Path)
				}
			}
			if one := p.Node("dut"); one != nil && len(one.App.Ports) != 4 {
				t.Errorf("%s: one thread for both sides has the ports %v", kind, one.App.Ports)
			}
		}
	}
}

// TestASpinningProgramNeedsItsCPU: a program of the user's that has a CPU for itself must have one on each side.
func TestASpinningProgramNeedsItsCPU(t *testing.T) {
	_, err := Make(loadExperiment(t, "testdata/duets/base.yaml", "nodes.dut.app={kind: device}", "nodes.dut.services=[{name: fwd, run: [/opt/fwd]}]"), loadHost(t, "microvm"))
	if err == nil || !strings.Contains(err.Error(), "node dut@b requests 1 CPU") {
		t.Errorf("%v", err)
	}
}

// TestForwardersThatNothingWakes: those that share a CPU would have to sleep, and memif wakes nobody.
func TestForwardersThatNothingWakes(t *testing.T) {
	sets := []string{"links.*.kind=memif", "traffic.backend=dpdk", "duet.b.nodes.dut.runtime=netns"}
	_, err := Make(loadExperiment(t, "testdata/duets/base.yaml", sets...), loadHost(t, "microvm"))
	if err == nil || !strings.Contains(err.Error(), "nothing wakes a sleeping engine") {
		t.Errorf("on two CPUs: %v", err)
	}
	p, err := Make(loadExperiment(t, "testdata/duets/base.yaml", sets...), loadHost(t, "epyc-7551p"))
	if err != nil || p.Duet.Forwarding != ForwardingApart {
		t.Errorf("with a CPU for each: %v", err)
	}
}

// TestNamesOnASide: on a side the names of the file mean the nodes of that side.
func TestNamesOnASide(t *testing.T) {
	p, err := Make(loadExperiment(t, "testdata/duets/base.yaml", duetKinds["runtime"]...), loadHost(t, "epyc-7551p"))
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"a", "b"} {
		n := p.Node("dut@" + side)
		if !p.OwnHosts()[n.Name] {
			t.Errorf("%s has no hosts file of its own", n.Name)
		}
		want := strings.SplitN(n.Interfaces[0].Addresses[0], "/", 2)[0] + " dut\n"
		if hosts := p.HostsFor(*n); !strings.Contains(hosts, want) || strings.Count(hosts, " dut\n") != 2 {
			t.Errorf("%s:\n%s", n.Name, hosts)
		}
	}
}

// TestSideBSaysWhatItCannotHave: which of the file's addresses it does not have, and that two sides may have one.
func TestSideBSaysWhatItCannotHave(t *testing.T) {
	f, err := spec.Load("lab.yaml", []byte(`name: lab
topology:
  nodes:
    gen: {addresses: {tx: [10.0.0.1/24]}}
    one: {app: {kind: route}, addresses: {in: [10.0.0.2/24], out: [10.1.0.1/24]}, mac: {out: "02:00:00:00:00:02"}}
    two: {app: {kind: route}, addresses: {in: [10.1.0.2/24]}}
  links:
    - {name: in, endpoints: ["gen:tx", "one:in"]}
    - {name: mid, endpoints: ["one:out", "two:in"]}
    - {name: out, endpoints: ["two:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
duet: {a: {links.mid.kind: veth}, b: {links.mid.kind: bridge}}
`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(e, loadHost(t, "epyc-7551p"))
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []string{"one@a", "one@b"} {
		if out := p.Interface(Endpoint{Node: side, Interface: "out"}); out.Addresses[0] != "10.1.0.1/24" || out.MAC != "02:00:00:00:00:02" || out.Neighbours[0].IP != "10.1.0.2" {
			t.Errorf("%s:out is %+v", side, out)
		}
	}
	said := strings.Join(p.Duet.Differs, "\n")
	for _, end := range []string{"gen:tx@b", "one@b:in"} {
		name, iface, _ := strings.Cut(end, ":")
		now := p.Interface(Endpoint{Node: name, Interface: iface}).Addresses[0]
		if want := end + " has " + now + ", not 10.0.0."; !strings.Contains(said, want) {
			t.Errorf("the sides differ in %q, without %q", said, want)
		}
	}
	if strings.Contains(said, "one@b:out") || strings.Contains(said, "MAC") {
		t.Errorf("the sides are said to differ in %q", said)
	}
}

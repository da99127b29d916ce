package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// casesLab sweeps the link's kind together with the backend that fits it, and the frame size.
const casesLab = `
name: lab
topology:
  nodes: {a: , b: }
  links: [{name: wire, endpoints: ["a:eth0", "b:eth0"]}, {name: other, endpoints: ["a:eth1", "b:eth1"]}]
traffic: {from: "a:eth0", to: "b:eth0", rate_pps: 1000, burst: 4}
sweep:
  driver:
    as it is: {}
    bridge udp: {links.*.kind: bridge, traffic.backend: udp}
    memif: {links.wire.kind: memif, traffic.backend: dpdk}
  traffic.frame_bytes: [64, 512]
`

// Each case sets its keys together, and the run has the case's name.
func TestCases(t *testing.T) {
	runs := checkRuns(t, mustLoad(t, casesLab),
		"driver=as it is, traffic.frame_bytes=64", "driver=as it is, traffic.frame_bytes=512",
		"driver=bridge udp, traffic.frame_bytes=64", "driver=bridge udp, traffic.frame_bytes=512",
		"driver=memif, traffic.frame_bytes=64", "driver=memif, traffic.frame_bytes=512")
	for i, run := range runs {
		kind, backend := []LinkKind{LinkVeth, LinkBridge, LinkMemif}[i/2], []Backend{BackendUDP, BackendUDP, BackendDPDK}[i/2]
		if e := run.Experiment; e.Topology.Links[0].Kind != kind || e.Traffic.Backend != backend {
			t.Errorf("%s: kind %s, backend %s", run, e.Topology.Links[0].Kind, e.Traffic.Backend)
		}
	}
	want := map[string]any{"driver": "memif", "traffic.frame_bytes": 512}
	if diff := cmp.Diff(want, runs[5].VariableMap()); diff != "" {
		t.Errorf("the variables differ (-want +got):\n%s", diff)
	}
}

// --set fixes a case of a sweep, or a key in its cases.
func TestSetCases(t *testing.T) {
	for set, want := range map[string]struct{ runs, kinds, backends string }{
		"driver=memif":        {"", "memif", "dpdk"},
		"driver=bridge udp":   {"", "bridge", "udp"},
		"sweep.driver.memif=": {"driver=as it is; driver=bridge udp", "veth bridge", "udp udp"},
		"sweep.driver=":       {"", "veth", "udp"},
		"links.*.kind=veth":   {"driver=as it is; driver=bridge udp; driver=memif", "veth veth veth", "udp udp dpdk"},
		"traffic.backend=raw": {"driver=as it is; driver=bridge udp", "veth bridge", "raw raw"},
		"sweep.driver.xdp={links.*.kind: xdp}": {"driver=as it is; driver=bridge udp; driver=memif; driver=xdp",
			"veth bridge memif xdp", "udp udp dpdk udp"},
		`sweep.driver."bridge udp"={links.*.kind: xdp}`: {"driver=as it is; driver=bridge udp; driver=memif", "veth xdp memif", "udp udp dpdk"},
	} {
		f := mustLoad(t, casesLab)
		sets := []string{"traffic.frame_bytes=64", set}
		if set == "traffic.backend=raw" { // which memif does not take
			sets = append(sets, "sweep.driver.memif=")
		}
		for _, one := range sets {
			if err := f.Set(one); err != nil {
				t.Fatalf("%s: %v", one, err)
			}
		}
		effective, err := f.Effective()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*File{f, mustLoad(t, string(effective))} {
			runs, err := f.Runs()
			if err != nil {
				t.Errorf("%s: %v", set, err)
				continue
			}
			var names, kinds, backends []string
			for _, run := range runs {
				names = append(names, run.String())
				kinds = append(kinds, string(run.Experiment.Topology.Links[0].Kind))
				backends = append(backends, string(run.Experiment.Traffic.Backend))
			}
			got := struct{ runs, kinds, backends string }{strings.Join(names, "; "), strings.Join(kinds, " "), strings.Join(backends, " ")}
			if got != want {
				t.Errorf("%s: got %q, want %q", set, got, want)
			}
		}
	}
}

func TestSetCaseRefuses(t *testing.T) {
	for set, want := range map[string]string{
		"driver=memi":         `--set driver=memi: driver: case "memi" does not exist; did you mean "memif"? allowed: as it is, bridge udp, memif`,
		"driver=":             `--set driver=: driver: case "" does not exist; allowed: as it is, bridge udp, memif`,
		"links.wire.kind=xdp": `--set links.wire.kind=xdp: links.wire.kind: the sweep's "links.*.kind" would overwrite this; set links.*.kind itself, or take it out of the sweep: --set 'sweep.driver='`,
	} {
		f := mustLoad(t, casesLab)
		if err := f.Set(set); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", set, err, want)
		}
	}
}

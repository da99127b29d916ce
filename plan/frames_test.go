package plan

import (
	"testing"

	"nines.dev/nines/spec"
)

func TestWhatMayLeaveAsXDPFrames(t *testing.T) {
	const text = `name: frames
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: xdp, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 0, backend: xdp, io: batch}
`
	for _, c := range []struct {
		sets []string
		may  bool
	}{
		{nil, true},
		{[]string{"links.wire.kind=veth"}, true},
		{[]string{"nodes.b.rx=awake"}, true},
		{[]string{"links.wire.kind=bridge"}, false},
		{[]string{"traffic.io=mmsg"}, false},
		{[]string{"traffic.io=single"}, false},
		{[]string{"traffic.backend=raw"}, false},
		{[]string{"traffic.wait=busy_poll"}, false},
		{[]string{"nodes.b.rx=threaded"}, false},
		{[]string{"nodes.b.rx=suspend"}, false},
		{[]string{"links.wire.endpoints=[a:eth, a:peer]", "traffic.to=a:peer", "nodes.b.cpus=1"}, true},
		{[]string{"links.wire.endpoints=[a:eth, a:peer]", "traffic.to=a:peer", "nodes.a.runtime=vm"}, false},
		{[]string{`traffic.to=a:eth`, `nodes.b.app={kind: reflect}`}, false},
	} {
		file, err := spec.Load("frames.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range c.sets {
			if err := file.Set(set); err != nil {
				t.Fatal(err)
			}
		}
		exp, err := file.Experiment()
		if err != nil {
			t.Fatal(err)
		}
		p, err := Make(exp, loadHost(t, "epyc-7551p"))
		if err != nil {
			t.Errorf("%v: %v", c.sets, err)
			continue
		}
		if got := p.MayBeXDPFrames(p.Traffic); got != c.may {
			t.Errorf("%v: %v, want %v", c.sets, got, c.may)
		}
	}
}

package measure

import (
	"fmt"
	"slices"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// TestBaselinesOfPods: one for each pod that the generator is, on the node where that runs, and none for
// what only the other pod changes.
func TestBaselinesOfPods(t *testing.T) {
	file, err := spec.Load("pods.yaml", []byte(`
name: pods
cluster: {namespace: measuring}
topology:
  nodes:
    client: {runtime: pod, host: n1, cpus: 2, env: {A: b}}
    server: {runtime: pod, app: {kind: reflect}}
  links: [{name: net, kind: pod-network, endpoints: ["client:eth0", "server:eth0"]}]
traffic: {from: "client:eth0", to: "client:eth0", rate_pps: 1000, duration: 10s}
sweep:
  nodes.client.host: [n1, n2]
  nodes.server.host: [n1, n2]
  traffic.frame_bytes: [64, 512]
`))
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := Prepare(file, inventory)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, alone := range experiment.baselines {
		p := alone.plan
		if len(p.Nodes) != 1 || p.Nodes[0].Pod == nil || p.Nodes[0].Pod.CPUs != 2 || p.Nodes[0].Env["A"] != "b" || p.Cluster.Namespace != "measuring" ||
			p.Traffic.From.PeerIP != "client:eth0" || alone.stream.Duration != spec.Duration(baselineDuration) {
			t.Fatalf("a baseline is %+v", p)
		}
		got = append(got, fmt.Sprintf("%s %d %v", p.Nodes[0].Pod.Host, alone.stream.FrameBytes, alone.variables))
	}
	slices.Sort(got)
	want := []string{
		"n1 512 map[nodes.client.host:n1 traffic.frame_bytes:512]", "n1 64 map[nodes.client.host:n1 traffic.frame_bytes:64]",
		"n2 512 map[nodes.client.host:n2 traffic.frame_bytes:512]", "n2 64 map[nodes.client.host:n2 traffic.frame_bytes:64]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the baselines are %q", got)
	}
}

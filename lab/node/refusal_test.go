package node

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// TestARefusalNamesTheKey: the texts are what the programs print in a container.
func TestARefusalNamesTheKey(t *testing.T) {
	lxc := plan.Node{Name: "dut", Runtime: spec.RuntimeLXC}
	for _, c := range []struct {
		printed, names string
	}{
		{"libbpf: failed to load object: Operation not permitted", "allow: [bpf]"},
		{"Error: perf_event_open: Operation not permitted", "allow: [perf]"},
		{"io_uring_queue_init: Operation not permitted", "allow: [io_uring]"},
		{"EAL: Cannot set up DMA remapping, error 1 (Operation not permitted)", "allow: [dpdk]"},
		{"chrt: failed to set pid 0's policy: Operation not permitted", "allow: [dpdk]"},
		{"mlockall: Operation not permitted", "allow: [dpdk]"},
		{"mount: /mnt: Operation not permitted", "privileged: true"},
		{"cannot open /data: Permission denied", ""},
		{"no such file", ""},
	} {
		if got := Refusal(lxc, c.printed); (c.names == "") != (got == "") || !strings.Contains(got, c.names) {
			t.Errorf("%s: %q, want that it names %q", c.printed, got, c.names)
		}
	}
	allowed, privileged, guest := lxc, lxc, plan.Node{Runtime: spec.RuntimeVM}
	allowed.Allow, privileged.Privileged = []spec.Allowance{spec.AllowBPF}, true
	const bpf = "bpf: Operation not permitted"
	if got := Refusal(allowed, bpf); strings.Contains(got, "allow: [bpf]") {
		t.Errorf("what is allowed is asked for: %q", got)
	}
	if got := Refusal(privileged, bpf) + Refusal(guest, bpf); got != "" {
		t.Errorf("where there are no walls: %q", got)
	}
}

package devices

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// traced runs an example with its packets' events recorded, and returns its first trial.
func traced(t *testing.T, example string, keys ...string) (result.Details, *result.Causes) {
	t.Helper()
	out := t.TempDir()
	_, said := run(t, "../../examples/devices/"+example+".yaml", append(set(append(keys, "trace=true")...), "--out", out)...)
	r, err := result.Open(out + "/latest")
	if err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	details, err := r.TrialFolder("0001").Details()
	if err != nil {
		t.Fatal(err)
	}
	causes, err := r.TrialFolder("0001").Causes()
	if err != nil || details.Trace == nil {
		t.Fatalf("not traced: %v\n%s", err, said)
	}
	return details, causes
}

// services are the threads of users' programs that explain looks at.
func services(d result.Details) (list []result.TracedThread) {
	for _, thread := range d.Trace.Threads {
		if thread.Role == result.RoleService {
			list = append(list, thread)
		}
	}
	return list
}

// TestTheThreadsThatCarryPacketsAreKnown, and no others: a control plane beside a kernel that forwards carries none.
func TestTheThreadsThatCarryPacketsAreKnown(t *testing.T) {
	for _, test := range []struct {
		example, thread string
		nodes           []string // in which one such thread is
		spins           bool
		set             []string
	}{
		{"c-forwarder", "fwd", []string{"dut"}, false, nil},
		{"c-forwarder", "python3", []string{"dut"}, false, []string{own, router("")}},
		{"python-echo", "python3", []string{"dut"}, false, nil},
		{"testpmd-io", "worker", []string{"dut"}, true, nil},
		{"tunnel", "python3", []string{"left", "right"}, false, nil},
		{"xdp", "none", nil, false, nil},
		{"firewall", "none", nil, false, []string{`topology.nodes.dut.services=[{name: control, run: [sh, -c, "while :; do :; done"]}]`}},
	} {
		t.Run(test.example+" "+test.thread, func(t *testing.T) {
			details, _ := traced(t, test.example, test.set...)
			var nodes []string
			for _, one := range services(details) {
				if !strings.Contains(one.Name, test.thread) || one.Spins != test.spins {
					t.Errorf("%+v, want %s", one, test.thread)
				}
				nodes = append(nodes, one.Node)
			}
			if slices.Sort(nodes); !slices.Equal(nodes, test.nodes) {
				t.Errorf("in %q, want %q; notes %q", nodes, test.nodes, details.Notes)
			}
		})
	}
}

// TestWithoutStagesTheThreadsAreNotKnown, and the trial says so.
func TestWithoutStagesTheThreadsAreNotKnown(t *testing.T) {
	details, _ := traced(t, "c-forwarder", "tracing={stages: false}")
	if found := services(details); len(found) > 0 || !slices.ContainsFunc(details.Notes, func(note string) bool {
		return strings.Contains(note, "which threads of the programs in dut carry the packets is not known")
	}) {
		t.Errorf("%+v, %q", found, details.Notes)
	}
}

// TestWhatKeepsAProgramFromItsPacketsIsNamed: a thread of a higher priority takes the CPU of a user's forwarder for 20 ms at
// a time, and most of the slowest packets wait for that.
func TestWhatKeepsAProgramFromItsPacketsIsNamed(t *testing.T) {
	labtest.QuietCore(t)
	details, causes := traced(t, "c-forwarder", "topology.nodes.dut.cpus=1", "traffic.duration=1s", "topology.nodes.dut.scheduling={policy: fifo, priority: 1}",
		"disturb.other={kind: spin, node: dut, period: 50ms, length: 20ms, scheduling: {policy: fifo, priority: 50}}")
	if len(services(details)) != 1 {
		t.Errorf("threads: %+v", details.Trace.Threads)
	}
	if !slices.ContainsFunc(causes.Ranking, func(r result.RankedCause) bool {
		return r.Cause.Kind == "priority" && r.Cause.Name == "nines-disturb" && r.Packets > 0
	}) {
		t.Errorf("causes: %+v", causes.Ranking)
	}
}

package lab

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// three nodes on a bridge, a and b with a veth pair too
const appliedLab = `
name: tbapply
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: netns}
    c: {runtime: netns}
  links:
    - {name: v, kind: veth, endpoints: ["a:v", "b:v"]}
    - {name: lan, kind: bridge, endpoints: ["a:lan", "b:lan", "c:lan"]}
`

func TestApplyLeavesRunningWhatStays(t *testing.T) {
	for _, test := range []struct {
		what  string
		edit  []string // old, new, old, new …
		want  change.Changes
		stays string
	}{
		{"nothing", nil, change.Changes{}, "abc"},
		{"a node more on the bridge", []string{"  links:", "    d: {runtime: netns}\n  links:", `"c:lan"]`, `"c:lan", "d:lan"]`},
			change.Changes{AddedNodes: []string{"d"}, AddedEndpoints: []string{"d:lan"}}, "abc"},
		{"a node less", []string{"    c: {runtime: netns}\n", "", `, "c:lan"`, ""},
			change.Changes{RemovedNodes: []string{"c"}, RemovedEndpoints: []string{"c:lan"}}, "ab"},
		{"another kind", []string{"kind: veth", "kind: xdp"}, change.Changes{ReplacedLinks: []string{"v"}}, "abc"},
		{"a node that is another", []string{"c: {runtime: netns}", "c: {runtime: netns, memory: 64MiB}"},
			change.Changes{FreshNodes: []string{"c"}}, "ab"},
		{"a network that is another", []string{"c: {runtime: netns}", "c: {runtime: host}"},
			change.Changes{ReplacedNodes: []string{"c"}, RemovedEndpoints: []string{"c:lan"}, AddedEndpoints: []string{"c:lan"}}, "ab"},
		{"a sysctl", []string{"c: {runtime: netns}", "c: {runtime: netns, sysctls: {net.ipv4.ip_default_ttl: \"7\"}}"},
			change.Changes{Adjusted: []string{"c"}}, "abc"},
	} {
		t.Run(test.what, func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, appliedLab)
			before := map[string]int{}
			for _, n := range lab.Plan().Nodes {
				before[n.Name] = lab.PID(n.Name)
			}
			text := strings.NewReplacer(test.edit...).Replace(appliedLab)
			got, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Change(t, lab.Plan(), text), Experiment: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			// The neighbours of those that stay, and the prefix of a network that grows, are in the test of the planner.
			got.Reconfigured, got.Differences = nil, nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			for _, n := range test.stays {
				if pid := lab.PID(string(n)); pid != before[string(n)] || pid == 0 {
					t.Errorf("node %c had process %d and has %d", n, before[string(n)], pid)
				}
			}
			for _, n := range lab.Plan().Nodes {
				for _, i := range n.Interfaces {
					for _, neighbour := range i.Neighbours {
						in(t, lab, n.Name, "ping", "-c1", "-W2", neighbour.IP)
					}
				}
			}
			again, err := Open("tbapply")
			if err != nil || !cmp.Equal(change.Compare(again.Plan(), lab.Plan()), change.Changes{}) || len(again.Settings()) == 0 {
				t.Errorf("opened again it is another lab: %v", err)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestApplyStartsDeadNodes(t *testing.T) {
	labtest.Root(t)
	lab := up(t, appliedLab)
	pid := lab.PID("b")
	if err := lab.Running("a").Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for lab.Alive("a") {
		time.Sleep(time.Millisecond)
	}
	got, err := lab.Apply(context.Background(), ApplyOptions{Plan: lab.Plan(), Experiment: []byte(appliedLab)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.RestartedNodes, []string{"a"}) || len(got.ReplacedNodes)+len(got.ReplacedLinks) > 0 || !lab.Alive("a") || lab.PID("b") != pid {
		t.Errorf("changes: %+v", got)
	}
	for _, i := range lab.Plan().Nodes[0].Interfaces {
		for _, neighbour := range i.Neighbours {
			in(t, lab, "a", "ping", "-c1", "-W2", neighbour.IP)
		}
	}
}

// An Apply that failed leaves a lab that only the journal knows; the next one rebuilds it.
func TestApplyAfterAFailedApply(t *testing.T) {
	labtest.Root(t)
	lab := up(t, appliedLab)
	bad := strings.Replace(appliedLab, "c: {runtime: netns}", "c: {runtime: netns, sysctls: {net.ipv4.ip_default_ttl: \"none\"}}", 1)
	_, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, bad), Experiment: []byte(bad)})
	if err == nil || !strings.Contains(err.Error(), "nines apply rebuilds it") {
		t.Fatalf("a sysctl that the kernel refuses was applied: %v", err)
	}
	if lab, err = Open("tbapply"); err != nil {
		t.Fatal(err)
	}
	got, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, appliedLab), Experiment: []byte(appliedLab)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.AddedNodes, []string{"a", "b", "c"}) {
		t.Errorf("changes: %+v", got)
	}
	for _, n := range lab.Plan().Nodes {
		for _, i := range n.Interfaces {
			for _, neighbour := range i.Neighbours {
				in(t, lab, n.Name, "ping", "-c1", "-W2", neighbour.IP)
			}
		}
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The interrupts of a link's devices that were moved near a node are restored when that link is
// removed, and no earlier.
func TestSettingsOfALinkGoWithIt(t *testing.T) {
	undoes := toUndo(change.Changes{RemovedLinks: []string{"wire"}}, &plan.Plan{}, &plan.Plan{})
	for link, want := range map[string]bool{"wire": true, "other": false, "": false} {
		e := journal.Entry{Step: journal.Step{Kind: setting.Kind, Link: link, Path: "/proc/irq/40/smp_affinity_list"}}
		if undoes(e) != want {
			t.Errorf("link %q: toUndo is not %t", link, want)
		}
	}
}

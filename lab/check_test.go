package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestWhatIsNotAsPlannedIsFoundAndMended damages a lab in one way after the other: the check names
// the part and no other, the list of labs counts it, and Apply with the same file mends it.
func TestWhatIsNotAsPlannedIsFoundAndMended(t *testing.T) {
	labtest.Root(t)
	lab := up(t, strings.Replace(appliedLab, "b: {runtime: netns}", "b: {runtime: netns, app: {kind: reflect, backend: raw}}", 1)+
		"traffic: {from: \"a:v\", to: \"a:v\", rate_pps: 1000, backend: raw}\n")
	text, err := os.ReadFile(lab.State().Experiment())
	if err != nil {
		t.Fatal(err)
	}
	inFabric := func(argv ...string) func() {
		return func() {
			t.Helper()
			if out, err := exec.Command("ip", append([]string{"-n", lab.Plan().FabricName()}, argv...)...).CombinedOutput(); err != nil {
				t.Fatalf("ip %v: %v: %s", argv, err, out)
			}
		}
	}
	inNode := func(node string, argv ...string) func() { return func() { in(t, lab, node, argv...) } }
	kill := func(pid func() int) func() {
		return func() {
			t.Helper()
			if err := syscall.Kill(pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	bridge := lab.Plan().Links[slices.IndexFunc(lab.Plan().Links, func(l plan.Link) bool { return l.Name == "lan" })].Device
	engine := func() int {
		pid := 0
		steps, err := lab.Engines()
		if err != nil {
			t.Fatal(err)
		}
		for node, id := range steps {
			if node == "b" {
				pid = id.PID
			}
		}
		return pid
	}
	for _, c := range []struct {
		what    string
		damage  func()
		parts   []string
		problem string
	}{
		{"an interface that is down", inNode("c", "ip", "link", "set", "lan", "down"), []string{"interface c:lan"}, "is down"},
		{"an address less", inNode("c", "ip", "address", "flush", "dev", "lan"), []string{"interface c:lan"}, "has lost its address"},
		{"another MTU", inNode("c", "ip", "link", "set", "lan", "mtu", "1400"), []string{"interface c:lan"}, "has an MTU of 1400, and 1500 is planned"},
		{"another MAC", inNode("c", "ip", "link", "set", "lan", "address", "02:00:00:00:00:77"), []string{"interface c:lan"}, "has the MAC address 02:00:00:00:00:77"},
		{"a pair less", inNode("a", "ip", "link", "delete", "v"), []string{"interface a:v", "interface b:v"}, "is gone"},
		{"a pair less, and its engine dead", func() { kill(engine)(); in(t, lab, "a", "ip", "link", "delete", "v") }, []string{"interface a:v", "node b", "interface b:v"}, ""},
		{"a bridge less", inFabric("link", "delete", bridge), []string{"link lan"}, "is gone, or down"},
		{"a dead engine", kill(engine), []string{"node b"}, "the engine of node b has died"},
		{"a dead node", kill(func() int { return lab.PID("a") }), []string{"node a"}, "is dead"},
		{"a dead fabric", kill(func() int { return lab.FabricPID() }), []string{"fabric"}, "is dead"},
	} {
		if bad := problems(t, lab); len(bad) > 0 {
			t.Fatalf("before %s: %v", c.what, bad)
		}
		c.damage()
		var bad []Checked
		for deadline := time.Now().Add(10 * time.Second); len(bad) == 0 && time.Now().Before(deadline); {
			bad = problems(t, lab) // a killed process takes a moment to end
		}
		if c.what == "a pair less" { // with which its engine may end, now or later
			bad = slices.DeleteFunc(bad, func(part Checked) bool { return part.Part == "node b" })
		}
		var parts []string
		for _, part := range bad {
			parts = append(parts, part.Part)
			if !strings.Contains(part.Problem, c.problem) {
				t.Errorf("%s: %s %q, want %q", c.what, part.Part, part.Problem, c.problem)
			}
		}
		if !slices.Equal(parts, c.parts) {
			t.Errorf("%s: found in %v, want %v", c.what, parts, c.parts)
		}
		if status := statusOf(lab.Name()); len(status.Faults) < len(c.parts) {
			t.Errorf("%s: the list of labs has the faults %q", c.what, status.Faults)
		}
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, string(text)), Experiment: text})
		if err != nil || changes.Empty() {
			t.Fatalf("%s: apply changed %+v, %v", c.what, changes, err)
		}
	}
	if bad := problems(t, lab); len(bad) > 0 {
		t.Errorf("in the end: %v", bad)
	}
}

// problems are the parts of a lab that are not as planned.
func problems(t *testing.T, l *Lab) []Checked {
	t.Helper()
	parts, err := l.Check()
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 9 {
		t.Fatalf("few parts were checked: %v", parts)
	}
	return slices.DeleteFunc(parts, func(c Checked) bool { return c.Problem == "" })
}

// TestTheListSaysWhatItCannotRead: what cannot be read may be a fault, and is none that is counted as absent.
func TestTheListSaysWhatItCannotRead(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tblsunread", ""))
	if status := statusOf(lab.Name()); len(status.Faults) > 0 {
		t.Fatalf("faults of a whole lab: %q", status.Faults)
	}
	for path, says := range map[string]string{lab.State().Receive(): "cannot read whether all is as planned", lab.State().Measured(): "cannot read who works on the lab"} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if faults := statusOf(lab.Name()).Faults; len(faults) != 1 || !strings.Contains(faults[0], says) {
			t.Errorf("without %s the list says %q", filepath.Base(path), faults)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

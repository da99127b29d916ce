package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// begin begins a measurement of the plans and ends it with the test.
func begin(t *testing.T, plans ...*plan.Plan) *Measurement {
	t.Helper()
	m, err := BeginMeasurement(context.Background(), plans[0].Name, plans)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.End(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// upMeasured brings up the lab of a measurement, and takes it down with the test.
func upMeasured(t *testing.T, text string) *Lab {
	t.Helper()
	p := labs.Plan(t, text)
	m := begin(t, p)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
		if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return lab
}

// The first measurement of a host finds no state folder.
func TestTheFirstMeasurementOfAHostBegins(t *testing.T) {
	labtest.Root(t)
	t.Setenv("NINES_STATE_DIR", filepath.Join(t.TempDir(), "nines"))
	begin(t, labs.Plan(t, labs.Pair("tbfirst", "")))
}

func TestALabThatIsMeasuredIsHeldUntilItsDown(t *testing.T) {
	labtest.Root(t)
	ctx, text := context.Background(), labs.Pair("tbheld", "")
	p := labs.Plan(t, text)
	m := begin(t, p)
	lab, err := Up(ctx, UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open("tbheld")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var busy *state.BusyError
		if !errors.As(err, &busy) || busy.PID != os.Getpid() || busy.Measuring != "tbheld" {
			t.Errorf("%s = %v, want that it is being measured, and by whom", what, err)
		}
	}
	_, err = Down(ctx, "tbheld")
	refused("Down", err)
	_, err = other.Apply(ctx, ApplyOptions{Plan: labs.Plan(t, labs.Pair("tbheld", "")), Experiment: []byte(text)})
	refused("Apply", err)
	refused("Up", upError(t, text))

	labs, err := List()
	if err != nil || len(labs) != 1 || labs[0].Condition != ConditionMeasuring || labs[0].PID != os.Getpid() {
		t.Errorf("the list is %+v, %v", labs, err)
	}
	in(t, other, "a", "true")
	if _, err := other.Inspect(ctx); err != nil {
		t.Errorf("Inspect of a lab that is being measured: %v", err)
	}
	if err := lab.Down(ctx); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAMeasurementKeepsItsNamesWhileItsLabsAreDown(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, labs.Pair("tbkept", ""))
	m, err := BeginMeasurement(context.Background(), "tbkept", []*plan.Plan{p})
	if err != nil {
		t.Fatal(err)
	}
	var busy *state.BusyError
	for what, text := range map[string]string{
		"name":   labs.Pair("tbkept", "prefix: other\n"),
		"prefix": labs.Pair("tbmeasother", "prefix: "+p.Prefix+"\n"),
	} {
		if err := upError(t, text); !errors.As(err, &busy) || busy.PID != os.Getpid() || !strings.Contains(err.Error(), "--set name=") {
			t.Errorf("Up of another lab with its %s = %v", what, err)
		}
	}
	up(t, labs.Pair("tbbeside", "")) // others may come up
	_, err = BeginMeasurement(context.Background(), "tbsecond", []*plan.Plan{labs.Plan(t, labs.Pair("tbsecond", ""))})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`process %d is measuring experiment "tbkept"`, os.Getpid())) {
		t.Errorf("a second measurement = %v, want who measures what", err)
	}
	if err := m.End(); err != nil {
		t.Fatal(err)
	}
	up(t, labs.Pair("tbkept", ""))
	if _, err := BeginMeasurement(context.Background(), "tbkept", []*plan.Plan{p}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "is up already") {
		t.Errorf("a measurement in a lab that is up = %v, want exit code 2", err)
	}
	begin(t, labs.Plan(t, labs.Pair("tbsecond", ""))) // the refused one holds no lock
}

// TestARefusedMeasurementNamesTheProcess: also in the moment before the other has written what it measures,
// and on a full disk, where neither a file nor a signature is.
func TestARefusedMeasurementNamesTheProcess(t *testing.T) {
	labtest.Root(t)
	if err := state.MakeFolderOfLabs(); err != nil {
		t.Fatal(err)
	}
	held, err := state.TakeLock(measurementLock(), "other.yaml", 0)
	if err != nil {
		t.Fatal(err)
	}
	refused := func() string {
		t.Helper()
		_, err := BeginMeasurement(context.Background(), "tbrefused", []*plan.Plan{labs.Plan(t, labs.Pair("tbrefused", ""))})
		if err == nil || !strings.HasSuffix(err.Error(), "and two measurements at once would disturb each other; wait for it, or end it") {
			t.Errorf("begun beside another: %v", err)
		}
		return fmt.Sprint(err)
	}
	self := fmt.Sprintf("process %d is ", os.Getpid())
	if said := refused(); !strings.HasPrefix(said, self+"about to measure, ") {
		t.Error(said)
	}
	id, err := proc.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	bootID, err := boot.ID()
	if err != nil {
		t.Fatal(err)
	}
	o := state.Owner{PID: id.PID, StartTicks: id.StartTicks, BootID: bootID, Since: time.Now(), Experiment: "other.yaml"}
	if err := state.WriteJSON(measurementFile(), o); err != nil {
		t.Fatal(err)
	}
	if said := refused(); !strings.HasPrefix(said, self+`measuring experiment "other.yaml" since `) {
		t.Error(said)
	}
	// Of an earlier one, which died.
	o.PID++
	if err := state.WriteJSON(measurementFile(), o); err != nil {
		t.Fatal(err)
	}
	if said := refused(); !strings.HasPrefix(said, self+"about to measure, ") {
		t.Error(said)
	}
	if said := (state.Owner{}).Describe(0); said != "another process is about to measure" {
		t.Error(said)
	}
	if err := errors.Join(os.Remove(measurementFile()), held.Free()); err != nil {
		t.Error(err)
	}
}

// TestAContainerCannotMakeUsWriteElsewhere places symbolic links in all folders that containers may
// share with the host, at paths where the host could write.
func TestAContainerCannotMakeUsWriteElsewhere(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	text := `
name: tbplant
topology:
  nodes:
    a: {runtime: netns}
    c: {runtime: lxc, app: {kind: reflect, backend: raw}}
  links: [{name: v, kind: veth, endpoints: ["a:x", "c:x"]}]
`
	lab := up(t, text)
	victim := filepath.Join(t.TempDir(), "victim")
	in(t, lab, "c", "sh", "-c", fmt.Sprintf("for folder in $(find /nines -type d); do ln -sf %s $folder/%s; done; true",
		victim, filepath.Base(lab.EngineLog("c"))))
	changed := strings.Replace(text, "kind: reflect, backend: raw", "kind: reflect, backend: ring", 1)
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, changed), Experiment: []byte(changed)})
	if err != nil || len(changes.RestartedApps) != 1 {
		t.Fatalf("Apply = %+v, %v, want that the engine is restarted", changes, err)
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the host has written through a container's link")
	}
}

func TestAMountOfNothingIsFoundBeforeAnythingIsMade(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, strings.Replace(labs.Pair("tbmount", ""), "b: {runtime: netns}",
		`b: {runtime: netns, mounts: [{source: /nowhere, target: /mnt}]}`, 1))
	noSource := func(err error) bool {
		return exit.Code(err) == exit.Wrong && strings.Contains(err.Error(), `node "b": the source of a mount, /nowhere,`)
	}
	if err := Check(p); !noSource(err) {
		t.Errorf("Check = %v", err)
	}
	if _, err := Up(context.Background(), UpOptions{Plan: p}); !noSource(err) {
		t.Errorf("Up = %v", err)
	}
	if entries, _ := os.ReadDir(os.Getenv("NINES_STATE_DIR")); len(entries) != 0 {
		t.Errorf("made: %v", entries)
	}
}

func TestAMountOnNothingIsFoundBeforeAnythingIsMade(t *testing.T) {
	labtest.Root(t)
	source, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.Mkdir(filepath.Join(source, "inner"), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	mounts := func(list string) *plan.Plan {
		return labs.Plan(t, strings.Replace(labs.Pair("tbmount", ""), "b: {runtime: netns}", "b: {runtime: netns, mounts: ["+list+"]}", 1))
	}
	for what, test := range map[string]struct{ list, target string }{
		"a target that is not there":   {"{source: " + source + ", target: /nowhere/at/all}", "/nowhere/at/all"},
		"a directory on a file":        {"{source: " + source + ", target: /etc/passwd}", "/etc/passwd"},
		"a file on a directory":        {"{source: " + file + ", target: /mnt}", "/mnt"},
		"a target in an earlier mount": {"{source: " + source + ", target: /mnt}, {source: " + source + ", target: /mnt/inner}", ""},
		"one that a mount hides":       {"{source: " + source + ", target: /etc}, {source: " + file + ", target: /etc/passwd}", "/etc/passwd"},
	} {
		err := Check(mounts(test.list))
		switch {
		case test.target == "" && err != nil:
			t.Errorf("%s: Check = %v", what, err)
		case test.target != "" && (exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "the target of a mount, "+test.target+",")):
			t.Errorf("%s: Check = %v", what, err)
		}
	}
	lab, err := Up(context.Background(), UpOptions{Plan: mounts("{source: " + source + ", target: /mnt}, {source: " + source + ", target: /mnt/inner}")})
	if err != nil {
		t.Fatal(err)
	}
	in(t, lab, "b", "ls", "/mnt/inner/inner")
	if err := lab.Down(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestUpRemovesAnOrphan makes an orphan: it releases a measured lab and writes a dead process into
// its state, as after kill -9.
func TestUpRemovesAnOrphan(t *testing.T) {
	labtest.Root(t)
	ctx, text := context.Background(), labs.Pair("tborphan", "")
	p := labs.Plan(t, text)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	m := begin(t, p)
	lab, err := Up(ctx, UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
	if err != nil {
		t.Fatal(err)
	}
	gone := m.owner
	gone.PID, gone.StartTicks = dead.Process.Pid, 1
	if err := errors.Join(state.WriteJSON(lab.State().Measured(), gone), lab.held.free()); err != nil {
		t.Fatal(err)
	}
	if labs, err := List(); err != nil || len(labs) != 1 || labs[0].Condition != ConditionOrphaned {
		t.Fatalf("the list is %+v, %v, want an orphan", labs, err)
	}
	old := lab.PID("a")
	again, err := Up(ctx, UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
	if err != nil {
		t.Fatal(err)
	}
	if lab.Alive("a") || again.PID("a") == old {
		t.Error("the orphan's node lives on")
	}
	if err := again.Down(ctx); err != nil {
		t.Error(err)
	}
}

// TestDownForgetsAMeasurementThatDied has the file of a measurement after kill -9, which Down
// removes, and then that of a living one, which Down keeps.
func TestDownForgetsAMeasurementThatDied(t *testing.T) {
	labtest.Root(t)
	text := labs.Pair("tbmeasdead", "")
	p := labs.Plan(t, text)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	m := begin(t, p)
	for _, c := range []struct {
		name  string
		owner state.Owner
		stays bool
	}{
		{"dead", state.Owner{PID: dead.Process.Pid, StartTicks: 1, BootID: m.owner.BootID, Experiment: "tbmeasdead"}, false},
		{"alive", m.owner, true},
	} {
		// A lab of the measurement, whose lock is then released, so that it only has to be taken
		// down.
		lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text), Measurement: m})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(lab.held.free(), state.WriteJSON(measurementFile(), c.owner)); err != nil {
			t.Fatal(err)
		}
		if _, err := Down(context.Background(), "tbmeasdead"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(measurementFile()); (err == nil) != c.stays {
			t.Errorf("%s: after Down the file of the measurement: %v, want that it stays: %v", c.name, err, c.stays)
		}
	}
	// DownAll finds the file of a dead measurement even where no lab is up.
	gone := state.Owner{PID: dead.Process.Pid, StartTicks: 1, BootID: m.owner.BootID, Experiment: "tbmeasdead"}
	if err := state.WriteJSON(measurementFile(), gone); err != nil {
		t.Fatal(err)
	}
	if err := DownAll(func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(measurementFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after DownAll the file of a dead measurement is there: %v", err)
	}
}

func TestAnUnknownSysctlIsFoundBeforeAnythingIsMade(t *testing.T) {
	with := func(sysctls string) error {
		return Check(labs.Plan(t, strings.Replace(labs.Pair("tbsysctl", ""), "b: {runtime: netns}", "b: {runtime: netns, sysctls: {"+sysctls+"}}", 1)))
	}
	labtest.Root(t)
	if err := with(`net.ipv4.no_such: "1"`); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), `node "b"`) || !strings.Contains(err.Error(), "/proc/sys/net/ipv4/no_such") {
		t.Errorf("Check = %v", err)
	}
	// The host has it, and may write it.
	_, unloaded := os.Stat("/proc/sys/net/netfilter/nf_conntrack_expect_max")
	if err := with(`net.netfilter.nf_conntrack_expect_max: "100"`); unloaded == nil && exit.Code(err) != exit.Wrong {
		t.Errorf("Check = %v", err)
	}
	// An interface's sysctl exists only with the interface.
	if err := with(`net.ipv4.ip_forward: "1", net.ipv4.conf.eth0.rp_filter: "0"`); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// TestAFullStateFolder: every failed write to a full disk is reported once, with what to do.
func TestAFullStateFolder(t *testing.T) {
	labtest.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "nr_inodes=1000,size=8192"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("NINES_STATE_DIR", dir)
	lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, labs.Pair("tbfull", ""))})
	if err == nil {
		t.Error(lab.Down(context.Background()))
	}
	var full *state.WriteError
	if !errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("Up = %v", err)
	}
	if text := full.Error(); strings.Count(text, dir) != 1 || strings.Contains(text, ".new") || !strings.Contains(text, "free some space") || !strings.Contains(text, "NINES_STATE_DIR") {
		t.Errorf("it says %q", text)
	}
}

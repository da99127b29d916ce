package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

func upError(t *testing.T, text string) error {
	t.Helper()
	lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err == nil {
		t.Error("it came up")
		_ = lab.Down(context.Background())
	}
	return err
}

func TestTwoLabsSideBySide(t *testing.T) {
	labtest.Root(t)
	one, two := up(t, labs.Pair("tbone", "")), up(t, labs.Pair("tbtwo", ""))
	if err := one.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, one.Plan().Prefix, os.Getenv("NINES_STATE_DIR")+"/labs/tbone"); len(left) > 0 {
		t.Errorf("left of the first: %v", left)
	}
	in(t, two, "a", "ping", "-c1", "-W2", two.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP)
	labs, err := List()
	if err != nil || len(labs) != 1 || labs[0].Name != "tbtwo" || labs[0].Condition != ConditionUp {
		t.Errorf("the list is %+v, %v", labs, err)
	}
}

func TestUpTwiceIsRefusedAndHarmless(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tbtwice", ""))
	if err := upError(t, labs.Pair("tbtwice", "")); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "is up already") {
		t.Errorf("got %v", err)
	}
	if err := upError(t, labs.Pair("tbother", "prefix: "+lab.Plan().Prefix+"\n")); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), `so does lab "tbtwice"`) {
		t.Errorf("a second lab with the same prefix: got %v", err)
	}
	in(t, lab, "a", "ping", "-c1", "-W2", lab.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP)
}

func TestALabThatIsBeingChangedIsBusy(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tbbusy", ""))
	h, err := hold("tbbusy")
	if err != nil {
		t.Fatal(err)
	}
	var busy *state.BusyError
	if _, err := Down(context.Background(), "tbbusy"); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	if labs, _ := List(); len(labs) != 1 || labs[0].Condition != ConditionChanging {
		t.Errorf("the list is %+v", labs)
	}
	if err := h.free(); err != nil {
		t.Fatal(err)
	}
	if !lab.Alive("a") {
		t.Error("the refused down has killed a node")
	}
}

func TestAFailedUpLeavesNothing(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	before := traces.Sysctls(t)
	for what, text := range map[string]string{
		"a command that fails": strings.Replace(labs.Pair("tbfails", ""), "b: {runtime: netns}", `b: {runtime: netns, exec: [["false"]]}`, 1),
		"no such sysctl":       strings.Replace(labs.Pair("tbfails", ""), "b: {runtime: netns}", `b: {runtime: netns, sysctls: {net.nonsense: "1"}}`, 1),
		"a mount of nothing":   strings.Replace(labs.Pair("tbfails", ""), "b: {runtime: netns}", `b: {runtime: netns, mounts: [{source: /nowhere, target: /mnt}]}`, 1),
	} {
		err := upError(t, text)
		if err == nil || !strings.Contains(err.Error(), `node "b"`) {
			t.Errorf("%s: got %v", what, err)
		}
		if left := traces.Left(t, labs.Plan(t, text).Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
	}
	traces.SameSysctls(t, before)
}

func TestACancelledUpLeavesNothing(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	text := strings.Replace(labs.Pair("tbstop", ""), "b: {runtime: netns}", `b: {runtime: netns, exec: [["sleep", "60"]]}`, 1)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	_, err := Up(ctx, UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err == nil {
		t.Fatal("it came up")
	}
	if said := err.Error(); !errors.Is(err, context.Canceled) || !strings.HasPrefix(said, "interrupted") || !strings.HasSuffix(said, "nothing is left") {
		t.Errorf("it says %q", said)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s to give up", took)
	}
	if left := traces.Left(t, labs.Plan(t, text).Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestADiskThatFillsStopsUpAndLeavesNothing brings a lab up on disks of 4, 8, 12 … KiB, until one
// is large enough.
func TestADiskThatFillsStopsUpAndLeavesNothing(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	outer := os.Getenv("NINES_STATE_DIR")
	text := labs.Star("bridge", 12, 1500)
	text = strings.Replace(text, "name: tbstar", "name: tbfull", 1)
	prefix := labs.Plan(t, text).Prefix
	refused := 0
	for pages := 4; ; pages++ {
		disk := filepath.Join(outer, "disk")
		if err := os.MkdirAll(disk, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%d", pages*4096)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("NINES_STATE_DIR", disk)
		lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err == nil {
			err = lab.Down(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			pages = -1
		} else if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("%d pages: %v", pages, err)
		} else {
			refused++
		}
		if left := traces.Left(t, prefix, disk+"/labs/tbfull"); len(left) > 0 {
			t.Fatalf("%d pages: left behind: %v", pages, left)
		}
		if err := unix.Unmount(disk, 0); err != nil {
			t.Fatal(err)
		}
		if pages < 0 {
			break
		}
	}
	if refused < 3 {
		t.Errorf("only %d disks were too small", refused)
	}
}

func TestADeadNodeIsShownDead(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tbdead", ""))
	id := proc.Identity{PID: lab.Running("a").PID, StartTicks: lab.Running("a").StartTicks}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id.Alive() {
		time.Sleep(time.Millisecond)
	}
	if labs, _ := List(); len(labs) != 1 || len(labs[0].DeadNodes) != 1 || labs[0].DeadNodes[0] != "a" {
		t.Errorf("the list is %+v", labs)
	}
	if _, err := lab.Command(context.Background(), "a", []string{"true"}, running.ExecOptions{}); err == nil || !strings.Contains(err.Error(), "dead") {
		t.Errorf("a command in a dead node: %v", err)
	}
	seen, err := lab.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if seen.NodeList[0].Alive || !seen.NodeList[1].Alive {
		t.Errorf("inspect shows %+v", seen.NodeList)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Error(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAContainerEndedFromOutsideIsTakenDown(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	for _, how := range []string{"lxc-stop", "monitor"} {
		t.Run(how, func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, strings.Replace(mixedLab, "name: tbmixed", "name: tb"+strings.ReplaceAll(how, "-", ""), 1))
			path := filepath.Join(lab.State().Dir, "lxc")
			if how == "lxc-stop" {
				if out, err := exec.Command("lxc-stop", "-k", "-P", path, "-n", lab.Plan().Nodes[1].HostName).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			} else {
				killMonitor(t, path)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Error(err)
			}
			if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func killMonitor(t *testing.T, path string) {
	t.Helper()
	killed := 0
	err := proc.Each(func(id proc.Identity) error {
		ours, err := id.HasArguments(path)
		if err != nil || !ours {
			return err
		}
		killed++
		return id.Signal(unix.SIGKILL)
	})
	if err != nil || killed == 0 {
		t.Fatalf("no monitor found: %v", err)
	}
}

func TestWithoutLXCNothingIsMade(t *testing.T) {
	labtest.Root(t)
	p := labs.Plan(t, mixedLab)
	t.Setenv("PATH", t.TempDir())
	var missing *exit.MissingError
	_, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(mixedLab)})
	if !errors.As(err, &missing) || missing.Capability != host.FeatureLXC || missing.ExitCode() != 3 {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(os.Getenv("NINES_STATE_DIR")); len(entries) != 0 {
		t.Errorf("made: %v", entries)
	}
}

func TestCommandsKeepTheirExitCodeSignalsAndSurroundings(t *testing.T) {
	labtest.Root(t)
	text := strings.Replace(labs.Pair("tbexec", ""), "a: {runtime: netns}", `a: {runtime: netns, cpu_list: "0", env: {COLOUR: green}}`, 1)
	lab := up(t, text)
	if out := in(t, lab, "a", "sh", "-c", "echo $COLOUR; grep Cpus_allowed_list /proc/self/status; echo $$"); !strings.HasPrefix(out, "green\nCpus_allowed_list:\t0\n") {
		t.Errorf("it says %q", out)
	}
	if out := in(t, lab, "a", "ls", "/sys/class/net"); strings.Join(strings.Fields(out), " ") != "lo x" {
		t.Errorf("the node's /sys shows %q", out)
	}
	code := func(argv ...string) int {
		cmd, err := lab.Command(context.Background(), "a", argv, running.ExecOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	if got := code("sh", "-c", "exit 42"); got != 42 {
		t.Errorf("exit code %d, not 42", got)
	}
	if got := code("no-such-program"); got != 127 {
		t.Errorf("a program that is not there: %d, not 127", got)
	}
	// A signal reaches the command, and ends it.
	cmd, err := lab.Command(context.Background(), "a", []string{"sleep", "60"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGTERM {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

func TestCaptureSeesWhatIsSentAndReceived(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Pair("tbcap", ""))
	c, err := capture.Open(lab.Lab, capture.Point{Node: "a", Interface: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := time.Now()
	in(t, lab, "a", "ping", "-c1", "-W2", lab.Plan().Nodes[0].Interfaces[0].Neighbours[0].IP)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for i, outgoing := range []bool{true, false} {
		f, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if f.Outgoing != outgoing || f.Length != 98 || f.Time.Before(before) || f.Time.After(time.Now()) {
			t.Errorf("frame %d: outgoing %v, %d bytes, at %s", i, f.Outgoing, f.Length, f.Time)
		}
	}
	if n, err := c.Dropped(); n != 0 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	labtest.Root(t)
	var none *state.NotFoundError
	if _, err := Open("tbnone"); !errors.As(err, &none) || none.ExitCode() != 2 {
		t.Errorf("open: %v", err)
	}
	if _, err := Down(context.Background(), "tbnone"); !errors.As(err, &none) {
		t.Errorf("down: %v", err)
	}
	if _, err := Down(context.Background(), "../x"); err == nil {
		t.Error("a name that is a path was taken")
	}
	lab := up(t, labs.Pair("tbnames", ""))
	if _, err := lab.Command(context.Background(), "c", []string{"true"}, running.ExecOptions{}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), `no node "c"`) {
		t.Errorf("exec: %v", err)
	}
}

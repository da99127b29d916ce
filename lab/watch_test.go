package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// The watcher is nines watch, which counts for these tests, though no code here imports it (test/selection).
var _ = "cmd/nines/watch.go"

// said is what the watcher says of a node now.
func said(t *testing.T, name, nodeName string) watch.NodeHealth {
	t.Helper()
	lab, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := watch.Health(lab.Lab)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		if h.Node == nodeName {
			return h
		}
	}
	t.Fatalf("nothing is said of %s: %+v", nodeName, list)
	return watch.NodeHealth{}
}

// a:v ──── b:v, c:v, d:v: each starts again, or not, by another policy.
const policyLab = `
name: tbpolicy
topology:
  nodes:
    a: {}
    b: {restart: on-failure}
    c: {restart: always}
    d: {runtime: lxc, restart: on-failure}
  links:
    - {name: lan, kind: bridge, endpoints: ["a:v", "b:v", "c:v", "d:v"]}
`

func TestPoliciesStartNodesAgain(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	// e is a container of an image, whose check sees the image's environment.
	text := strings.NewReplacer("  links:", fmt.Sprintf(`    e:
      runtime: oci
      driver: runc
      image: %q
      init: nines
      restart: on-failure
      healthcheck: {exec: [sh, -c, 'test "$SHAPE" = round'], interval: 100ms}
  links:`, labs.OCIImage(t, v1.Config{Env: []string{"SHAPE=round"}})), `"d:v"]`, `"d:v", "e:v"]`).Replace(policyLab)
	lab := up(t, text)
	ctx := context.Background()
	before := map[string]string{}
	for _, n := range lab.Plan().Nodes {
		before[n.Name] = network(t, lab, n.Name)
	}
	now := func() *Lab {
		l, err := Open(lab.Name())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	started := func(nodeName string, pid int) func() bool {
		return func() bool {
			l := now()
			return l.Alive(nodeName) && l.PID(nodeName) != pid && !l.Running(nodeName).Unfinished && said(t, lab.Name(), nodeName).Restarts > 0
		}
	}
	for _, nodeName := range []string{"b", "d", "e"} {
		pid := lab.PID(nodeName)
		killProcess(t, lab.Running(nodeName).Identity)
		labtest.Eventually(t, nodeName+" is killed, and started again", started(nodeName, pid))
		if h := said(t, lab.Name(), nodeName); h.Why != "it had died" || h.Restarts != 1 {
			t.Errorf("%s was started again: %+v", nodeName, h)
		}
	}
	labtest.Eventually(t, "e is healthy after its start", func() bool { return said(t, lab.Name(), "e").Status == health.Healthy })
	killProcess(t, lab.Running("a").Identity)

	// One that ends by itself is started again by "always" only. The watcher sees both in one look.
	l := now()
	b, c := l.PID("b"), l.PID("c")
	if known(t) {
		endItself(t, l, "b")
	}
	endItself(t, l, "c")
	labtest.Eventually(t, "c ends, and is started again", started("c", c))
	if known(t) {
		if now().Alive("b") || said(t, lab.Name(), "b").Restarts != 1 {
			t.Errorf("b ended by itself, and was started again: %+v, first process %d and now %d", said(t, lab.Name(), "b"), b, now().PID("b"))
		}
		if h := said(t, lab.Name(), "c"); h.Why != "it had exited with code 0" {
			t.Errorf("c was started again: %+v", h)
		}
	}
	if now().Alive("a") {
		t.Error("a, without a policy, was started again")
	}
	if err := now().Start(ctx, []string{"a", "b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}

	// A stopped one is not: the watcher has seen that it is gone, and leaves it.
	if err := now().Stop(ctx, []string{"c"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the watcher sees that c is stopped", func() bool { return said(t, lab.Name(), "c").PID == 0 })
	pid := now().PID("b")
	killProcess(t, now().Running("b").Identity)
	labtest.Eventually(t, "b is started again, after c was stopped", started("b", pid))
	stopped(t, lab, "c")
	if err := now().Start(ctx, []string{"c"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if bad := problems(t, now()); len(bad) > 0 {
		t.Error(bad)
	}
	for name, was := range before {
		if is := network(t, now(), name); is != was {
			t.Errorf("the network of %s was\n%s\nand is\n%s", name, was, is)
		}
	}
}

// endItself lets a node's first process end with the exit code 0.
func endItself(t *testing.T, lab *Lab, nodeName string) {
	t.Helper()
	cmd, err := lab.Command(context.Background(), nodeName, []string{"kill", "-TERM", "1"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The kernel reports a child's end only when it is reaped, for which the watcher waits
	// not long (longestReaping). Others have a parent that does.
	id := lab.Running(nodeName).Identity
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		for !id.Reap() && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	_ = cmd.Run() // it may end with the node
	for id.Alive() {
		time.Sleep(time.Millisecond)
	}
	<-reaped
}

// known is true on a kernel that gives the exit status of a process that is not our child.
func known(t *testing.T) bool {
	t.Helper()
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(uts.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 15
}

// TestHealthIsChecked: a node starts, is healthy, unhealthy and started again, as its check says.
func TestHealthIsChecked(t *testing.T) {
	labtest.Root(t)
	fine := filepath.Join(t.TempDir(), "fine")
	lab := up(t, fmt.Sprintf(`
name: tbhealth
topology:
  nodes:
    a: {healthcheck: {exec: [sh, -c, "test -e %[1]s || { echo no file; exit 3; }"], interval: 100ms, retries: 2, start_period: 1h}}
    b: {restart: on-failure, healthcheck: {exec: [test, -e, %[1]s], interval: 100ms, retries: 2}}
    c: {}
  links:
    - {name: lan, kind: bridge, endpoints: ["a:v", "b:v", "c:v"]}
`, fine))
	ctx := context.Background()
	// While the file is not there, a is in its start period and b is started again and again.
	labtest.Eventually(t, "a check of a fails", func() bool { return strings.Contains(said(t, "tbhealth", "a").Said, "exit status 3: no file") })
	if h := said(t, "tbhealth", "a"); h.Status != health.Starting || h.Failures > 0 {
		t.Errorf("in its start period a is %+v", h)
	}
	labtest.Eventually(t, "b is started again as it is unhealthy", func() bool {
		h := said(t, "tbhealth", "b")
		return h.Restarts > 1 && strings.HasPrefix(h.Why, "it was unhealthy")
	})
	soon := 200 * time.Millisecond
	if err := watch.AwaitHealthy(ctx, lab.Name(), soon, func(string) {}); err == nil || !strings.Contains(err.Error(), "a is starting (exit status 3: no file)") || !strings.Contains(err.Error(), "200ms") {
		t.Errorf("waiting for a node that does not get healthy: %v", err)
	}
	if err := os.WriteFile(fine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	if err := watch.AwaitHealthy(ctx, lab.Name(), time.Minute, func(line string) { told = append(told, line) }); err != nil {
		t.Fatal(err)
	}
	status := statusOf("tbhealth")
	if status.Healthy != 2 || status.Checked != 2 || len(status.Faults) > 0 {
		t.Errorf("when all are healthy: %+v", status)
	}
	if err := os.Remove(fine); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "a is unhealthy", func() bool { return said(t, "tbhealth", "a").Status == health.Unhealthy })
	now, err := Open("tbhealth")
	if err != nil {
		t.Fatal(err)
	}
	faults, err := now.Faults()
	if err != nil || !slices.ContainsFunc(faults, func(f check.Fault) bool {
		return strings.Contains(f.Problem, "node a is unhealthy: 2 checks in a row have failed")
	}) {
		t.Errorf("an unhealthy node is no fault: %v, %v", faults, err)
	}
	if err := os.WriteFile(fine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := watch.AwaitHealthy(ctx, lab.Name(), time.Minute, func(string) {}); err != nil {
		t.Fatal(err)
	}
}

// TestADeadWatcherIsAFault: check sees it, and apply starts another. A lab without nodes to watch has
// none, and one that gets or loses them gets or loses the watcher.
func TestADeadWatcherIsAFault(t *testing.T) {
	labtest.Root(t)
	text := strings.Replace(policyLab, "{runtime: lxc, restart: on-failure}", "{}", 1)
	lab := up(t, text)
	watcher := func() int {
		j, err := journal.Read(lab.State().Journal())
		if err != nil {
			t.Fatal(err)
		}
		if id := process.OfStep(j, watch.IsWatcher); id.PID != 0 && id.Alive() {
			return id.PID
		}
		return 0
	}
	apply := func(text string) change.Changes {
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if len(changes.ReplacedNodes)+len(changes.RestartedNodes)+len(changes.ReplacedLinks) > 0 {
			t.Errorf("apply changed %+v", changes)
		}
		if bad := problems(t, lab); len(bad) > 0 {
			t.Error(bad)
		}
		return changes
	}
	first := watcher()
	if first == 0 {
		t.Fatal("nothing watches the lab")
	}
	killProcess(t, ownProcesses(lab.State())[0])
	if bad := problems(t, lab); len(bad) != 1 || bad[0].Part != watch.Part || !strings.Contains(bad[0].Problem, "has exited") {
		t.Errorf("a dead watcher is told as %v", bad)
	}
	if changes := apply(text); !slices.Equal(changes.Watched, []string{"b", "c"}) || watcher() == 0 {
		t.Errorf("apply changed %+v, and the watcher is %d", changes, watcher())
	}
	if changes := apply(text); !changes.Empty() {
		t.Errorf("apply without a reason changed %+v", changes)
	}
	none := strings.NewReplacer("{restart: on-failure}", "{}", "{restart: always}", "{}").Replace(text)
	if apply(none); watcher() != 0 {
		t.Error("a watcher without nodes runs on")
	}
	if apply(text); watcher() == 0 {
		t.Error("nothing watches the nodes that apply lets it watch")
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAPolicyThatCannotStartANodeSaysWhy: a dead node's fault has the reason, and goes when the node runs.
func TestAPolicyThatCannotStartANodeSaysWhy(t *testing.T) {
	labtest.Root(t)
	source, target := filepath.Join(t.TempDir(), "source"), t.TempDir()
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	lab := up(t, fmt.Sprintf(`
name: tbnostart
topology:
  nodes:
    a: {restart: on-failure, mounts: [{source: %q, target: %q}]}
    b: {}
    c: {}
  links:
    - {name: lan, kind: bridge, endpoints: ["a:v", "b:v", "c:v"]}
`, source, target))
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	killProcess(t, lab.Running("a").Identity)
	labtest.Eventually(t, "the policy fails to start a", func() bool { return said(t, lab.Name(), "a").Failed != "" })
	now, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	bad := problems(t, now)
	if len(bad) != 1 || bad[0].Part != "node a" || !strings.Contains(bad[0].Problem, "node a could not be restarted: ") || !strings.Contains(bad[0].Problem, source) {
		t.Errorf("a node whose mount is gone is told as %v", bad)
	}
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "the policy starts a", func() bool { h := said(t, lab.Name(), "a"); return h.Failed == "" && h.Restarts == 1 })
	if now, err = Open(lab.Name()); err != nil {
		t.Fatal(err)
	}
	if bad := problems(t, now); len(bad) > 0 {
		t.Errorf("when a runs again: %v", bad)
	}
}

// TestAMeasuredLabIsWatchedByItsProcess: its nodes are started again, and the measurement is told, also
// of one that was unhealthy for a while.
func TestAMeasuredLabIsWatchedByItsProcess(t *testing.T) {
	labtest.Root(t)
	fine := filepath.Join(t.TempDir(), "fine")
	if err := os.WriteFile(fine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := fmt.Sprintf("{healthcheck: {exec: [sh, -c, 'test -e %s || { echo no file; exit 3; }'], interval: 100ms, timeout: 1m, retries: 2}}", fine)
	text := strings.Replace(policyLab, "{runtime: lxc, restart: on-failure}", check, 1)
	lab := upMeasured(t, text)
	if status := statusOf(lab.Name()); status.Healthy != 1 || status.Condition != ConditionMeasuring {
		t.Errorf("when it is up: %+v", status)
	}
	if told := lab.TakeRestarts(); len(told) > 0 {
		t.Errorf("told before anything was: %v", told)
	}
	pid := lab.PID("b")
	killProcess(t, lab.Running("b").Identity)
	var told []Restarted
	labtest.Eventually(t, "b is started again by the measuring process", func() bool {
		told = append(told, lab.TakeRestarts()...)
		return lab.Alive("b") && lab.PID("b") != pid && len(told) > 0
	})
	if len(told) != 1 || told[0].Node != "b" || told[0].Why != "it had died" {
		t.Errorf("told: %+v", told)
	}
	if err := lab.Restart(context.Background(), []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if told := lab.TakeRestarts(); len(told) != 1 || told[0].Node != "a" {
		t.Errorf("a restart by the measurement itself is told as %+v", told)
	}
	if err := os.Remove(fine); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "d is unhealthy", func() bool { return said(t, lab.Name(), "d").Status == health.Unhealthy })
	if err := os.WriteFile(fine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "d is healthy again", func() bool { return said(t, lab.Name(), "d").Status == health.Healthy })
	if told := lab.TakeRestarts(); len(told) != 1 || told[0].Node != "d" || told[0].How != "unhealthy" || told[0].Took <= 0 || !strings.Contains(told[0].Why, "no file") {
		t.Errorf("a node that was unhealthy is told as %+v", told)
	}
	other, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Restart(context.Background(), []string{"a"}, RestartOptions{}); err == nil || !strings.Contains(err.Error(), "is being measured") {
		t.Errorf("a restart from outside: %v", err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestAWatcherGoesOnAfterAFailedRead: it has no file descriptor left when the lab changes, says so, and
// watches again once it has some.
func TestAWatcherGoesOnAfterAFailedRead(t *testing.T) {
	labtest.Root(t)
	lab := up(t, "name: tbwatchread\ntopology: {nodes: {a: {restart: always}, b: {}}}\n")
	j, err := journal.Read(lab.State().Journal())
	if err != nil {
		t.Fatal(err)
	}
	watcher := process.OfStep(j, watch.IsWatcher)
	if !watcher.Alive() {
		t.Fatal("there is no watcher")
	}
	labtest.Eventually(t, "the watcher is at work", func() bool {
		_, err := os.Stat(lab.State().Health())
		return err == nil
	})
	var before unix.Rlimit
	if err := unix.Prlimit(watcher.PID, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(watcher.PID, unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	if err := lab.Restart(context.Background(), []string{"b"}, RestartOptions{}); err != nil { // the journal changes
		t.Fatal(err)
	}
	labtest.Eventually(t, "the watcher says that it cannot read", func() bool {
		text, err := os.ReadFile(lab.State().WatcherLog())
		return err == nil && strings.Contains(string(text), "tries again") && strings.Contains(string(text), "too many open files")
	})
	if !watcher.Alive() {
		t.Fatal("the watcher has ended")
	}
	if err := unix.Prlimit(watcher.PID, unix.RLIMIT_NOFILE, &before, nil); err != nil {
		t.Fatal(err)
	}
	pid := lab.PID("a")
	killProcess(t, lab.Running("a").Identity)
	labtest.Eventually(t, "a is started again", func() bool {
		now, err := Open(lab.Name())
		return err == nil && now.Alive("a") && now.PID("a") != pid
	})
}

// TestDownEndsAWatcherAtWork: a watcher that starts a node has the lab's lock, perhaps for long.
func TestDownEndsAWatcherAtWork(t *testing.T) {
	labtest.Root(t)
	flag := filepath.Join(t.TempDir(), "flag")
	lab := up(t, fmt.Sprintf(`
name: tbwatchdown
topology:
  nodes:
    a: {restart: on-failure, exec: [[sh, -c, "test ! -e %s || sleep 1000"]]}
    b: {}
  links:
    - {endpoints: ["a:v", "b:v"]}
`, flag))
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	killProcess(t, lab.Running("a").Identity)
	labtest.Eventually(t, "the watcher starts a again, which takes long", func() bool {
		l, err := Open(lab.Name())
		held, unread := flock.IsHeld(lab.State().Lock())
		return err == nil && unread == nil && held && l.Alive("a")
	})
	if condition := statusOf(lab.Name()).Condition; condition != ConditionChanging {
		t.Errorf("meanwhile the lab is %s", condition)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Error(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

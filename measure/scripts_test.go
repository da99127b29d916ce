package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/result"
	"nines.dev/nines/script"
	"nines.dev/nines/test/labtest"
)

// A measurement of two nodes in the words of pos, which the file runs as they are:
//
//	loadgen:eth ──wire── dut:eth
//
// The loop is 2 × 1: two rates, one size. dut counts what arrives, loadgen sends.
const posLoadgen = `#!/bin/sh
set -ex
rate=$(pos_get_variable --from-loop rate)
size=$(pos_get_variable -l size)
count=$(pos_get_variable --from-global count)
peer=$(pos_get_variable -r peer)
pos_set_variable --as-loop chosen "$size"
[ "$(pos_get_variable hostname)" = loadgen ]
pos_set_variable -g sent $((count * rate))
pos_sync
pos_run --loop ping -- sh -c "ping -c $count -s $size -W 30 $peer"
pos_wait --loop ping
echo "$rate,$size" > /tmp/$$.csv
pos_upload --loop /tmp/$$.csv --name rate.csv
rm /tmp/$$.csv
pos_sync --tag done
`

const posDUT = `#!/bin/sh
set -ex
pos_sync
pos_run -l wait -- sleep 1000
[ "$(pos_get_variable --from-loop chosen)" = "$(pos_get_variable --remote -l size)" ]
if pos_sync --timeout 0.2 --tag never; then exit 9; fi
pos_sync -l --timeout 600 -t done
[ "$(pos_get_variable --from-global sent)" = "$(( $(pos_get_variable count) * $(pos_get_variable --from-loop rate) ))" ]
pos_kill -l wait
echo counted
`

const posNetwork = `
topology:
  nodes:
    loadgen:
      runtime: %s
      addresses: {eth: [10.9.9.1/24]}
      variables: {peer: 10.9.9.2}
      scripts: {experiment: loadgen.sh, setup: "pos_set_variable made/by $(pos_get_variable hostname)\npos_sync\n", teardown: "pos_get_variable made/by\ntrue\n"}
    dut:
      runtime: %s
      addresses: {eth: [10.9.9.2/24]}
      scripts: {experiment: dut.sh, setup: "pos_sync\necho ready\n"}
  links: [{name: wire, endpoints: ["loadgen:eth", "dut:eth"]}]
variables: {count: 2, rate: 1, size: 56}
scripts: {timeout: 2m}
sweep: {variables.rate: [1, 5], variables.size: [100]}
`

// runScripts measures an experiment whose scripts are files, and returns its result.
func runScripts(ctx context.Context, t *testing.T, name, network string, files map[string]string) (*result.Result, error) {
	t.Helper()
	labtest.Experiment(t)
	for path, text := range files {
		network = strings.ReplaceAll(network, path, strconv.Quote(text))
	}
	experiment, writer := prepare(t, name, network)
	if _, err := experiment.Check(); err != nil {
		t.Fatal(err)
	}
	session, err := experiment.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	measured := session.Measure(ctx, writer, silent{})
	r, err := result.Open(writer.Dir())
	if err != nil {
		t.Fatal(err, measured)
	}
	if labs, err := lab.List(); err != nil || slices.ContainsFunc(labs, func(l lab.Status) bool { return l.Name == name }) {
		t.Errorf("the lab is left: %+v (%v)", labs, err)
	}
	return r, measured
}

func readResult(t *testing.T, r *result.Result, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{r.Dir, result.ScriptsFolder}, path...)...))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// busyboxImage is an image with busybox in it, as the keys of a node.
func busyboxImage(t *testing.T) string {
	t.Helper()
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	busybox, err := exec.LookPath("busybox")
	labtest.Require(t, "busybox-static", err == nil)
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "rootfs.tar")
	for _, folder := range []string{"bin", "etc", "root", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, applet := range []string{"sh", "sleep"} {
		if err := os.WriteFile(filepath.Join(root, "bin", applet), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command("tar", "-C", root, "-cf", out, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return fmt.Sprintf("init: nines\n      image: %q", "rootfs:"+out)
}

// TestScriptsOfPos runs it on namespaces and on containers.
func TestScriptsOfPos(t *testing.T) {
	labtest.Experiment(t)
	if _, err := exec.LookPath("ping"); err != nil {
		labtest.Require(t, "ping", false)
	}
	for runtime, program := range map[string]string{"netns": "", "lxc": "lxc-start", "oci": "runc"} {
		t.Run(runtime, func(t *testing.T) {
			if program != "" {
				_, err := exec.LookPath(program)
				labtest.Require(t, program, err == nil)
			}
			dut := runtime
			if runtime == "oci" {
				dut += "\n      " + busyboxImage(t)
			}
			network := strings.Replace(strings.Replace(posNetwork, "%s", "netns", 1), "%s", dut, 1)
			r, err := runScripts(context.Background(), t, "tmpos"+runtime, network, map[string]string{"loadgen.sh": posLoadgen, "dut.sh": posDUT})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Summary.Trials) != 2 {
				t.Fatalf("there are %d trials", len(r.Summary.Trials))
			}
			for i, trial := range r.Summary.Trials {
				rate := []string{"1", "5"}[i]
				if trial.Verdict != result.Unmeasured || len(trial.Scripts) != 2 {
					t.Fatalf("trial %s is %s: %q: %+v: %s", trial.ID, trial.Verdict, trial.Reasons, trial.Scripts, readResult(t, r, trial.ID, "loadgen", "stderr"))
				}
				if got := trial.Variables["variables.rate"]; result.FormatVariable(got) != rate {
					t.Errorf("trial %s has the rate %v", trial.ID, got)
				}
				if got := readResult(t, r, trial.ID, "loadgen", "uploads", "rate.csv"); got != rate+",100\n" {
					t.Errorf("trial %s uploaded %q", trial.ID, got)
				}
				if got := readResult(t, r, trial.ID, "loadgen", "uploads", "ping.stdout"); !strings.Contains(got, "2 received") && !strings.Contains(got, "2 packets received") {
					t.Errorf("the ping of trial %s said %q", trial.ID, got)
				}
				if got := readResult(t, r, trial.ID, "dut", "stdout") + readResult(t, r, trial.ID, "dut", "status") + readResult(t, r, trial.ID, "dut", "uploads", "wait.status"); got != "counted\n0\nkilled\n" {
					t.Errorf("trial %s: dut left %q", trial.ID, got)
				}
				var values struct{ Loop, Global map[string]string }
				if err := json.Unmarshal([]byte(readResult(t, r, trial.ID, result.VariablesFile)), &values); err != nil || values.Loop["rate"] != rate || values.Global["sent"] != map[string]string{"1": "2", "5": "10"}[rate] {
					t.Errorf("trial %s has the variables %+v, %v", trial.ID, values, err)
				}
				path := filepath.Join(r.Dir, result.ScriptsFolder, trial.ID, result.VariablesFile)
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
			}
			// One lab for both trials.
			if got := readResult(t, r, "lab-0001", "setup", "dut", "stdout") + readResult(t, r, "lab-0001", "teardown", "loadgen", "stdout"); got != "ready\nloadgen\n" {
				t.Errorf("setup and teardown said %q", got)
			}
			if _, err := os.Stat(filepath.Join(r.Dir, result.ScriptsFolder, "lab-0002")); err == nil {
				t.Error("a second lab was made")
			}
		})
	}
}

// TestVariablesOfNodesAreSwept: the trials share a lab, and each node has its own value.
func TestVariablesOfNodesAreSwept(t *testing.T) {
	const ask = "nines-script get-variable -l rate\nnines-script get-variable rate\n"
	r, err := runScripts(context.Background(), t, "tmnodes", `
topology:
  nodes:
    a: {variables: {rate: 1}, scripts: {experiment: ask.sh}}
    b: {variables: {rate: 7}, scripts: {setup: "true\n\n", experiment: own.sh}}
sweep: {nodes.a.variables.rate: [1, 5]}
`, map[string]string{"ask.sh": ask, "own.sh": "nines-script get-variable rate\nnines-script get-variable -l nodes.a.variables.rate\n"})
	if err != nil || len(r.Summary.Trials) != 2 {
		t.Fatalf("%v: %+v", err, r.Summary.Trials)
	}
	for i, trial := range r.Summary.Trials {
		rate := []string{"1", "5"}[i]
		if got := readResult(t, r, trial.ID, "a", "stdout"); trial.Verdict != result.Unmeasured || got != rate+"\n"+rate+"\n" {
			t.Errorf("trial %s is %s, and a said %q: %q", trial.ID, trial.Verdict, got, trial.Reasons)
		}
		if got := readResult(t, r, trial.ID, "b", "stdout"); got != "7\n"+rate+"\n" {
			t.Errorf("trial %s: b said %q", trial.ID, got)
		}
		if got := result.FormatVariable(trial.Variables["nodes.a.variables.rate"]); got != rate {
			t.Errorf("trial %s has the rate %s", trial.ID, got)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Dir, result.ScriptsFolder, "lab-0002")); err == nil {
		t.Error("a second lab was made")
	}
}

// TestAFailingPeerEndsTheBarrier: waiter would wait for an hour, its script's timeout.
func TestAFailingPeerEndsTheBarrier(t *testing.T) {
	r, err := runScripts(context.Background(), t, "tmpeer", `
topology:
  nodes:
    waiter: {scripts: {experiment: waiter.sh}}
    failing: {scripts: {experiment: failing.sh}}
scripts: {timeout: 1h}
`, map[string]string{"waiter.sh": "pos_sync --tag ready || exit 7\n", "failing.sh": "echo the card is gone >&2\nexit 3\n"})
	if err != nil {
		t.Fatal(err)
	}
	trial := r.Summary.Trials[0]
	if reasons := strings.Join(trial.Reasons, "; "); trial.Verdict != result.Invalid || !strings.Contains(reasons, "the script of node failing ended with status 3: the card is gone") {
		t.Errorf("the trial is %s: %s", trial.Verdict, reasons)
	}
	if got := readResult(t, r, trial.ID, "waiter", "stderr"); !strings.Contains(got, `the barrier "ready" was not reached by node failing, whose script ended with status 3`) {
		t.Errorf("the waiter heard %q", got)
	}
	if got := readResult(t, r, trial.ID, "waiter", "status"); got != "7\n" {
		t.Errorf("the waiter's status is %q", got)
	}
}

// TestWhatAFailedScriptLeftKeepsNobodyAtABarrier: the waiter is told while a process that has left the script's
// group still has its output, of which nothing is lost.
func TestWhatAFailedScriptLeftKeepsNobodyAtABarrier(t *testing.T) {
	left, mark := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "mark")
	r, err := runScripts(context.Background(), t, "tmleft", `
topology:
  nodes:
    waiter: {scripts: {experiment: waiter.sh}}
    failing: {scripts: {experiment: failing.sh}}
scripts: {timeout: 1h}
`, map[string]string{
		"waiter.sh": "pos_sync\ntouch " + mark + "\n",
		"failing.sh": "setsid sh -c 'touch " + left + "; until test -e " + mark + "; do sleep 0.05; done; echo the waiter went on' &\n" +
			"until test -e " + left + "; do sleep 0.05; done\nexit 3\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := readResult(t, r, r.Summary.Trials[0].ID, "failing", "stdout"); got != "the waiter went on\n" {
		t.Errorf("what the failed script left behind says %q", got)
	}
}

// TestAFailingPeerEndsTheBarrierWithinASecond: so much less than its timeout, where nothing else has the CPUs.
func TestAFailingPeerEndsTheBarrierWithinASecond(t *testing.T) {
	labtest.QuietCore(t)
	r, err := runScripts(context.Background(), t, "tmprompt", `
topology:
  nodes:
    waiter: {scripts: {experiment: waiter.sh}}
    failing: {scripts: {experiment: failing.sh}}
scripts: {timeout: 1h}
`, map[string]string{"waiter.sh": "pos_sync\ncut -d ' ' -f 1 /proc/uptime\n", "failing.sh": "sleep 1\ncut -d ' ' -f 1 /proc/uptime\nexit 3\n"})
	if err != nil {
		t.Fatal(err)
	}
	// Seconds since the host booted: when one failed, and when the other went on.
	at := func(node string) float64 {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(readResult(t, r, r.Summary.Trials[0].ID, node, "stdout")), 64)
		if err != nil {
			t.Fatal(err)
		}
		return seconds
	}
	if after := at("waiter") - at("failing"); after < 0 || after > 1 {
		t.Errorf("the barrier ended %.2f s after the failure", after)
	}
}

// TestScriptsBesideTraffic: their failure makes the trial invalid, and its figures stay.
func TestScriptsBesideTraffic(t *testing.T) {
	r, err := runScripts(context.Background(), t, "tmbeside", strings.Replace(pairNetwork, "b: {}", "b: {scripts: {experiment: b.sh}}", 1)+"sweep: {variables.fails: [0, 4]}\n",
		map[string]string{"b.sh": "sleep 0.1\nexit $(nines-script get-variable fails)\n"})
	if err != nil {
		t.Fatal(err)
	}
	fine, failed := r.Summary.Trials[0], r.Summary.Trials[1]
	if fine.Scripts[0].Status != "0" || strings.Contains(strings.Join(fine.Reasons, ";"), "script") {
		t.Errorf("the first trial: %+v", fine)
	}
	if failed.Verdict != result.Invalid || !strings.Contains(strings.Join(failed.Reasons, ";"), "node b ended with status 4") || failed.RxPackets == 0 || failed.Latency.Count == 0 {
		t.Errorf("the second trial: %+v", failed)
	}
}

// TestScriptsBesideARestart: a trial of scripts alone is invalid if a node was started again in it, or
// has died. The next has another lab where a node has died, or has lost what its setup script did.
func TestScriptsBesideARestart(t *testing.T) {
	for _, c := range []struct {
		name, aside, says string
		another           bool
	}{
		{"tmrestarted", "{restart: on-failure}", "in this trial node aside was restarted", false},
		{"tmsetagain", "{restart: on-failure, scripts: {setup: up.sh}}", "in this trial node aside was restarted", true},
		{"tmdied", "{}", "node aside is dead", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			labtest.Experiment(t)
			mark, done := filepath.Join(t.TempDir(), "mark"), filepath.Join(t.TempDir(), "done")
			killed := make(chan error, 1)
			go func() {
				killed <- killOnceIn(c.name, "aside", mark, c.aside != "{}")
				_ = os.WriteFile(done, nil, 0o600)
			}()
			r, err := runScripts(context.Background(), t, c.name, "\ntopology: {nodes: {a: {scripts: {experiment: a.sh}}, aside: "+c.aside+"}}\nrepeat: 2\n",
				map[string]string{"a.sh": "touch " + mark + "\nuntil test -e " + done + "; do sleep 0.05; done\n", "up.sh": "true\n\n"})
			if problem := <-killed; problem != nil {
				t.Fatal(problem, err)
			}
			var deaths *DeathsError
			if died := errors.As(err, &deaths); died != (c.aside == "{}") || err != nil && !died || died && deaths.Deaths[0].Fate != Kept {
				t.Errorf("it returned %v", err)
			}
			if len(r.Summary.Trials) != 2 {
				t.Fatalf("there are %d trials", len(r.Summary.Trials))
			}
			first, second := r.Summary.Trials[0], r.Summary.Trials[1]
			if reasons := strings.Join(first.Reasons, "; "); first.Verdict != result.Invalid || !strings.Contains(reasons, c.says) || first.Scripts[0].Status != "0" {
				t.Errorf("the first trial is %s: %s: %+v", first.Verdict, reasons, first.Scripts)
			}
			if second.Verdict != result.Unmeasured || len(second.Reasons) != 1 {
				t.Errorf("the second trial is %s: %q", second.Verdict, second.Reasons)
			}
			if _, err := os.Stat(filepath.Join(r.Dir, result.ScriptsFolder, "lab-0002")); (err == nil) != c.another {
				t.Errorf("the second trial has a lab of its own: %v", err == nil)
			}
		})
	}
}

// TestARestartAfterTheTrafficIsTold: a script goes on when the traffic has ended, and what happens to the lab then
// belongs to its trial.
func TestARestartAfterTheTrafficIsTold(t *testing.T) {
	labtest.Experiment(t)
	mark, done := filepath.Join(t.TempDir(), "mark"), filepath.Join(t.TempDir(), "done")
	killed := make(chan error, 1)
	go func() {
		killed <- killOnceIn("tmlate", "aside", mark, true)
		_ = os.WriteFile(done, nil, 0o600)
	}()
	// It waits until packets have come, and none comes for two seconds.
	const wait = `
count() { cat /sys/class/net/eth/statistics/rx_packets; }
first=$(count) last=-1
until now=$(count); test "$now" -gt "$((first + 10))" && test "$now" = "$last"; do last=$now; sleep 2; done
touch %s
until test -e %s; do sleep 0.05; done
`
	r, err := runScripts(context.Background(), t, "tmlate", strings.Replace(pairNetwork, "b: {}", "b: {scripts: {experiment: b.sh}}, aside: {restart: on-failure}", 1)+"repeat: 2\n",
		map[string]string{"b.sh": fmt.Sprintf(wait, mark, done)})
	if problem := <-killed; problem != nil || err != nil {
		t.Fatal(problem, err)
	}
	first := r.Summary.Trials[0]
	if reasons := strings.Join(first.Reasons, "; "); first.Verdict != result.Invalid || strings.Count(reasons, "in this trial node aside was restarted") != 1 || first.RxPackets == 0 {
		t.Errorf("the first trial is %s: %s", first.Verdict, reasons)
	}
	if second := r.Summary.Trials[1]; strings.Contains(strings.Join(second.Reasons, "; "), "aside") {
		t.Errorf("the second trial is %s: %q", second.Verdict, second.Reasons)
	}
}

// killOnceIn kills the first process of a node when a file is there, and waits until the node has
// ended, or has been started again.
func killOnceIn(labName, nodeName, mark string, again bool) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if time.Now().After(end) {
			return errors.New("the script did not begin")
		}
	}
	l, err := lab.Open(labName)
	if err != nil {
		return err
	}
	if err := unix.Kill(l.PID(nodeName), unix.SIGKILL); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		list, err := watch.Health(l.Lab)
		if err != nil {
			return err
		}
		if again && len(list) == 1 && list[0].Restarts == 1 || !again && !l.Alive(nodeName) {
			return nil
		}
	}
	return errors.New("the node did not end, or was not started again")
}

// TestCtrlCEndsScripts, with what they have started in the background, and the trial is left for a
// resumed run.
func TestCtrlCEndsScripts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	mark := filepath.Join(t.TempDir(), "mark")
	go func() {
		defer cancel()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(mark); err == nil {
				return
			}
		}
	}()
	r, err := runScripts(ctx, t, "tmcancel", "\ntopology: {nodes: {a: {runtime: host, scripts: {experiment: a.sh}}}}\nscripts: {timeout: 1h}\n",
		map[string]string{"a.sh": "sleep 4321 &\ntouch " + mark + "\ntrap '' TERM INT\nwait\nsleep 4321\n"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("it returned %v", err)
	}
	if len(r.Summary.Trials) != 0 {
		t.Errorf("there are %d trials", len(r.Summary.Trials))
	}
	if out, err := exec.Command("pgrep", "-f", "^sleep 4321$").Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}

// TestAFailingSetupEndsTheRun, and its message has the last lines.
func TestAFailingSetupEndsTheRun(t *testing.T) {
	_, err := runScripts(context.Background(), t, "tmsetup", "\ntopology: {nodes: {a: {scripts: {setup: a.sh, experiment: b.sh}}}}\n",
		map[string]string{"a.sh": "echo no compiler\nexit 1\n", "b.sh": "true\n\n"})
	if err == nil || !strings.Contains(err.Error(), "node a: its setup script ended with status 1: no compiler") {
		t.Errorf("it returned %v", err)
	}
}

// TestAFailedSetupIsTornDown: what it did before it failed, or was interrupted, is there.
func TestAFailedSetupIsTornDown(t *testing.T) {
	const network = "\ntopology: {nodes: {a: {runtime: host, scripts: {setup: up.sh, experiment: b.sh, teardown: down.sh}}}}\n"
	for what, end := range map[string]string{"failed": "exit 1", "interrupted": "exec sleep 1000"} {
		t.Run(what, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "made")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				for what == "interrupted" && ctx.Err() == nil {
					if _, err := os.Stat(made); err == nil {
						cancel()
					}
					time.Sleep(time.Millisecond)
				}
			}()
			_, err := runScripts(ctx, t, "tmtorn", network, map[string]string{
				"up.sh": "mkdir " + made + "\n" + end + "\n", "b.sh": "true\n\n", "down.sh": "mv " + made + " " + made + ".down\n\n",
			})
			if err == nil {
				t.Error("a setup that " + what + " ends well")
			}
			if _, err := os.Stat(made + ".down"); err != nil {
				t.Error("the teardown has not run:", err)
			}
		})
	}
}

// TestManyUploadsDoNotFillTheSummary: it names the first, and counts the others.
func TestManyUploadsDoNotFillTheSummary(t *testing.T) {
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("file-%05d", i))
	}
	got := scriptResult(script.Outcome{Node: "a", Status: "0", Uploads: names})
	if len(got.Uploads) != 100 || got.Uploads[99] != names[99] || got.MoreUploads != 9900 {
		t.Errorf("%d are named, and there are %d more", len(got.Uploads), got.MoreUploads)
	}
	if got := scriptResult(script.Outcome{Uploads: names[:100]}); len(got.Uploads) != 100 || got.MoreUploads != 0 {
		t.Errorf("of 100, %d are named, and there are %d more", len(got.Uploads), got.MoreUploads)
	}
}

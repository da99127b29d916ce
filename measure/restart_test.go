package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/lab"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// gen:tx ──in── dut:in ▸ forward ▸ dut:out ──out── gen:rx, and a node that nobody measures
const restartedNetwork = `
topology:
  nodes:
    gen: {}
    dut: {restart: on-failure, app: {kind: forward, backend: raw}}
    aside: {healthcheck: {exec: ["true"]}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
    - {name: beside, endpoints: ["aside:eth", "gen:eth"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, rate_pps: 1000, duration: 3s, warmup: 50ms, drain: 3s, outliers: 10}
`

// acting prints nothing, but acts while a trial runs.
type acting struct {
	silent
	progress func()
}

func (a acting) Progress(Progress) { a.progress() }

// TestATrialWithARestartIsInvalid: it says which node was restarted and why, whether someone asked for
// it or the node had died; the next trial says nothing of it, and all are on the same lab.
func TestATrialWithARestartIsInvalid(t *testing.T) {
	labtest.Experiment(t)
	ctx := context.Background()
	experiment, _ := prepare(t, "restarted", restartedNetwork)
	err := onBench(ctx, t, experiment, func(b *bench, r run) error {
		first := b.lab
		for _, c := range []struct {
			what string
			do   func() error
			says string // empty: nothing is said
		}{
			{"a restart between trials", nil, ""},
			{"a restart of the forwarder", func() error { return b.lab.Restart(ctx, []string{"dut"}, lab.RestartOptions{Why: "a test asked"}) }, "node dut was restarted"},
			{"nothing", func() error { return nil }, ""},
			{"a restart of a node beside", func() error { return b.lab.Restart(ctx, []string{"aside"}, lab.RestartOptions{}) }, "node aside was restarted"},
			{"a stop and a start", func() error {
				if err := b.lab.Stop(ctx, []string{"aside"}, lab.RestartOptions{}); err != nil {
					return err
				}
				return b.lab.Start(ctx, []string{"aside"}, lab.RestartOptions{})
			}, "node aside was started"},
		} {
			if c.do == nil {
				if err := b.lab.Restart(ctx, []string{"aside"}, lab.RestartOptions{}); err != nil {
					return err
				}
			}
			if err := b.set(ctx, r); err != nil {
				return err
			}
			if b.lab != first {
				t.Errorf("%s: the trial is on another lab", c.what)
			}
			var done error
			begun := c.do == nil
			b.watch = acting{progress: func() { // each second of the trial
				if !begun {
					begun = true
					done = c.do()
				}
			}}
			rec, err := b.trial(ctx, r, 1)
			if err != nil || done != nil {
				return fmt.Errorf("%s: %w", c.what, errors.Join(err, done))
			}
			if !begun || rec.Trial.RxPackets == 0 {
				t.Errorf("%s: begun %v, and %d of %d packets received", c.what, begun, rec.Trial.RxPackets, rec.Trial.TxPackets)
			}
			told := slices.ContainsFunc(rec.Trial.Reasons, func(reason string) bool {
				return strings.Contains(reason, "in this trial node ") && (c.says == "" || strings.Contains(reason, c.says))
			})
			if told != (c.says != "") || told && rec.Trial.Verdict != result.Invalid {
				t.Errorf("%s: the trial is %s, with %q", c.what, rec.Trial.Verdict, rec.Trial.Reasons)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestANodeThatWasUnhealthyBeforeIsNoReason: one that became healthy while the lab came up, as a router that learns its
// routes.
func TestANodeThatWasUnhealthyBeforeIsNoReason(t *testing.T) {
	labtest.Experiment(t)
	checks := filepath.Join(t.TempDir(), "checks")
	slow := fmt.Sprintf(`{exec: [sh, -c, "echo >>%s; [ $(wc -l <%[1]s) -ge 5 ]"], interval: 100ms, retries: 2}`, checks)
	experiment, _ := prepare(t, "wasill", strings.Replace(restartedNetwork, `{exec: ["true"]}`, slow, 1), "traffic.duration=200ms")
	err := onBench(context.Background(), t, experiment, func(b *bench, r run) error {
		rec, err := b.trial(context.Background(), r, 1)
		if reasons := strings.Join(rec.Trial.Reasons, "\n"); strings.Contains(reasons, "unhealthy") {
			t.Errorf("the trial is %s: %s", rec.Trial.Verdict, reasons)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(checks); err != nil || len(text) < 5 {
		t.Errorf("%d checks, %v", len(text), err)
	}
}

// TestANodeThatIsOffStaysOff: until someone starts it. All trials meanwhile are invalid and name it, or
// are lost, where it is the node that sends.
func TestANodeThatIsOffStaysOff(t *testing.T) {
	labtest.Experiment(t)
	ctx := context.Background()
	experiment, _ := prepare(t, "staysoff", restartedNetwork, "traffic.duration=1500ms")
	err := onBench(ctx, t, experiment, func(b *bench, r run) error {
		first, dead := b.lab, &deaths{}
		trial := func(what string, do func() error) (reasons string) {
			t.Helper()
			var done error
			begun := do == nil
			b.watch = acting{progress: func() {
				if !begun {
					begun = true
					done = do()
				}
			}}
			err := dead.once(ctx, b, r, 1, func() error {
				if err := b.set(ctx, r); err != nil {
					return err
				}
				rec, err := b.trial(ctx, r, 1)
				reasons = strings.Join(rec.Trial.Reasons, "; ")
				return err
			})
			if err != nil || done != nil || !begun {
				t.Fatalf("%s: begun %v: %v", what, begun, errors.Join(err, done))
			}
			if b.lab != first {
				t.Fatalf("%s: the lab was made anew", what)
			}
			return reasons
		}
		for _, node := range []string{"dut", "gen"} {
			off := "node " + node + " was stopped at "
			_ = trial("switched off: "+node, func() error { return b.lab.Stop(ctx, []string{node}, lab.RestartOptions{Kill: true}) })
			said := trial("off: "+node, nil)
			if node == "gen" {
				for _, death := range dead.all {
					said += death.Reason
				}
				if len(dead.all) != 2 || dead.all[0].Fate != Lost || dead.all[1].Fate != Lost {
					t.Errorf("without the node that sends: %+v", dead.all)
				}
			}
			if !strings.Contains(said, off) || !b.lab.Stopped(node) {
				t.Errorf("while %s is off (%v), the trial says %q", node, b.lab.Stopped(node), said)
			}
			if err := b.lab.Start(ctx, []string{node}, lab.RestartOptions{}); err != nil {
				return err
			}
			if said := trial("on again: "+node, nil); strings.Contains(said, "in this trial") || strings.Contains(said, "no packet arrived") {
				t.Errorf("when %s is on again: %s", node, said)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnEventLeavesANodeOff: one that restarts it, too.
func TestAnEventLeavesANodeOff(t *testing.T) {
	labtest.Experiment(t)
	ctx := context.Background()
	experiment, _ := prepare(t, "eventoff", restartedNetwork+"events: [{at: 500ms, node: dut, restart: true}]\n", "traffic.duration=1500ms")
	err := onBench(ctx, t, experiment, func(b *bench, r run) error {
		if err := b.lab.Stop(ctx, []string{"dut"}, lab.RestartOptions{Kill: true}); err != nil {
			return err
		}
		if err := b.set(ctx, r); err != nil {
			return err
		}
		rec, err := b.trial(ctx, r, 1)
		if err != nil {
			return err
		}
		if reasons := strings.Join(rec.Trial.Reasons, "; "); !b.lab.Stopped("dut") || !strings.Contains(reasons, "an event restarts only a node that runs") {
			t.Errorf("the node is off: %v; the trial is %s: %s", b.lab.Stopped("dut"), rec.Trial.Verdict, reasons)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnEventRestartsANode: a restart that the file asks for makes no trial invalid. The forwarder is
// another process afterwards, and packets pass again.
func TestAnEventRestartsANode(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "planned", restartedNetwork+"events: [{at: 500ms, node: dut, restart: true}]\n")
	done := finish(t, experiment, writer)
	trial := done.Summary.Trials[0]
	for _, reason := range trial.Reasons {
		if strings.Contains(reason, "restarted") {
			t.Errorf("the trial is %s: %s", trial.Verdict, reason)
		}
	}
	folder := done.TrialFolder(trial.ID)
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Events) != 1 {
		t.Fatalf("the record has the events %+v", details.Events)
	}
	e := details.Events[0]
	if e.What != "restart" || e.Node != "dut" || e.Problem != "" || e.BeganNs < 500e6 || e.EndedNs <= e.BeganNs {
		t.Errorf("%+v", e)
	}
	if trial.RxPackets == 0 || trial.LostPackets == 0 {
		t.Errorf("%d of %d packets were received, %d lost: a restart takes the forwarder away for a while", trial.RxPackets, trial.TxPackets, trial.LostPackets)
	}
}

// TestATrialWithAResetByIPMIIsInvalid: ipmitool resets the forwarder while its packets are measured; the
// trial names it, and the next one is as if nothing had been.
func TestATrialWithAResetByIPMIIsInvalid(t *testing.T) {
	labtest.Experiment(t)
	_, err := exec.LookPath("ipmitool")
	labtest.Require(t, "ipmitool", err == nil)
	ctx := context.Background()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("correct-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := restartedNetwork + fmt.Sprintf("power: {protocols: [ipmi], address: 127.77.7.1, user: admin, password_file: %s}\n", password)
	experiment, _ := prepare(t, "reset", text)
	err = onBench(ctx, t, experiment, func(b *bench, r run) error {
		for _, resets := range []bool{true, false} {
			if err := b.set(ctx, r); err != nil {
				return err
			}
			var done error
			begun := false
			b.watch = acting{progress: func() {
				if begun || !resets {
					return
				}
				begun = true
				// dut is the second node by name.
				out, err := exec.Command("ipmitool", "-I", "lanplus", "-N", "10", "-C", "17", "-H", "127.77.7.1", "-p", "6002", "-U", "admin", "-f", password, "power", "reset").CombinedOutput()
				if err != nil {
					done = fmt.Errorf("%w: %s", err, out)
				}
			}}
			rec, err := b.trial(ctx, r, 1)
			if err != nil || done != nil {
				return errors.Join(err, done)
			}
			reasons := strings.Join(rec.Trial.Reasons, "; ")
			if told := strings.Contains(reasons, "power reset, asked for by IPMI from"); told != resets {
				t.Errorf("with a reset: %v, the reasons are %q", resets, reasons)
			}
			if resets && (rec.Trial.Verdict != result.Invalid || !strings.Contains(reasons, "node dut was restarted")) {
				t.Errorf("the verdict is %s: %s", rec.Trial.Verdict, reasons)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

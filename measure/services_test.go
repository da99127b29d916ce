package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// gen:tx ──in── dut:in ▸ forward ▸ dut:out ──out── gen:rx, with two services in dut, of which the sweep varies one
const servedNetwork = `
topology:
  nodes:
    gen: {}
    dut: {%s, app: {kind: forward, backend: raw}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, rate_pps: 1000, duration: 2s, warmup: 50ms, outliers: 10}
sweep:
  nodes.dut.services:
    - [{name: stays, run: [sleep, "1001"]}, {name: varies, run: [sh, -c, "echo one; exec sleep 1002"], restart: on-failure}]
    - [{name: stays, run: [sleep, "1001"]}, {name: varies, run: [sh, -c, "echo two; exec sleep 1002"]}]
`

// TestATrialInWhichAServiceEndsIsInvalid: with its signal and its last output, in each runtime, also where its policy
// starts it again. A sweep over the services restarts only those that differ.
func TestATrialInWhichAServiceEndsIsInvalid(t *testing.T) {
	for name, keys := range map[string]func(*testing.T) string{
		"netns": func(*testing.T) string { return "runtime: netns" },
		"lxc":   func(t *testing.T) string { labs.NeedLXC(t); return "runtime: lxc" },
		"oci": func(t *testing.T) string {
			labs.NeedOCIDriver(t, "runc")
			return fmt.Sprintf("runtime: oci, driver: runc, init: nines, image: %q", labs.OCIImage(t, v1.Config{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			labtest.Experiment(t)
			serviceEndsInTrial(t, name, keys(t))
		})
	}
}

func serviceEndsInTrial(t *testing.T, name, keys string) {
	ctx := context.Background()
	experiment, _ := prepare(t, "served-"+name, fmt.Sprintf(servedNetwork, keys))
	err := onBench(ctx, t, experiment, func(b *bench, r run) error {
		now := func() map[string]service.State {
			all, err := service.All(b.lab.Lab)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]service.State{}
			for _, s := range all {
				found[s.Name] = s
			}
			return found
		}
		said := ""
		trial := func(r run, kill string) []string {
			t.Helper()
			if err := b.set(ctx, r); err != nil {
				t.Fatal(err)
			}
			var failed error
			begun := kill == ""
			b.watch = acting{progress: func() {
				if begun {
					return
				}
				begun = true
				var cmd interface{ Run() error }
				if cmd, failed = b.lab.Command(ctx, "dut", []string{"sh", "-c", "kill -SEGV $(pidof sleep | tr ' ' '\\n' | while read p; do grep -q " + kill + " /proc/$p/cmdline && echo $p; done)"}, running.ExecOptions{}); failed == nil {
					failed = cmd.Run()
				}
			}}
			rec, err := b.trial(ctx, r, 1)
			if err := errors.Join(err, failed); err != nil {
				t.Fatal(err)
			}
			said = string(rec.ServicesLog)
			if invalid := rec.Trial.Verdict == result.Invalid; kill != "" && !invalid {
				t.Errorf("the trial is %s", rec.Trial.Verdict)
			}
			return slices.DeleteFunc(rec.Trial.Reasons, func(reason string) bool { return !strings.Contains(reason, "service ") })
		}
		first := b.lab
		if reasons := trial(r, ""); len(reasons) > 0 {
			t.Errorf("of a trial in which nothing ends: %q", reasons)
		}
		if said != "== node dut, service varies\none\n" {
			t.Errorf("the result has %q of the services' output", said)
		}
		if reasons := strings.Join(trial(r, "1002"), "\n"); !strings.Contains(reasons, "in this trial service varies of node dut ended at ") ||
			!strings.Contains(reasons, "and was started again: signal: segmentation fault; its last output was: one") {
			t.Errorf("of one that starts again: %s", reasons)
		}
		before := now()
		if reasons := trial(experiment.runs[1], ""); len(reasons) > 0 {
			t.Errorf("after an exchange: %q", reasons)
		}
		after := now()
		if b.lab != first || after["stays"].Keeper != before["stays"].Keeper || after["varies"].Keeper == before["varies"].Keeper {
			t.Errorf("the lab is another: %v; before %+v, now %+v", b.lab != first, before, after)
		}
		if reasons := strings.Join(trial(experiment.runs[1], "1002"), "\n"); !strings.Contains(reasons, "service varies of node dut has ended: signal: segmentation fault") || !strings.Contains(reasons, "its last output was: two") {
			t.Errorf("of one that does not: %s", reasons)
		}
		if reasons := trial(experiment.runs[1], ""); len(reasons) > 0 {
			t.Errorf("the next trial: %q", reasons)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestASweepOverImagesKeepsTheLab: the node starts again with the other image, in its network, and its services with it.
func TestASweepOverImagesKeepsTheLab(t *testing.T) {
	labtest.Experiment(t)
	labs.NeedOCIDriver(t, "runc")
	ctx := context.Background()
	round, square := labs.OCIImage(t, v1.Config{Env: []string{"SHAPE=round"}}), labs.OCIImage(t, v1.Config{Env: []string{"SHAPE=square"}})
	experiment, _ := prepare(t, "shapes", fmt.Sprintf(`
topology:
  nodes:
    gen: {}
    dut: {runtime: oci, driver: runc, init: nines, image: %q, app: {kind: forward, backend: raw}, services: [{name: says, run: [sh, -c, "echo $SHAPE; exec sleep 1000"], ready: {output: u}}]}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, rate_pps: 1000, duration: 1s, warmup: 50ms, outliers: 10}
sweep: {nodes.dut.image: [%[1]q, %q]}
`, round, square))
	err := onBench(ctx, t, experiment, func(b *bench, _ run) error {
		first, network := b.lab, b.lab.Running("dut").Network
		for i, shape := range []string{"round", "square", "round"} {
			r := experiment.runs[i%2]
			if err := b.set(ctx, r); err != nil {
				return err
			}
			said, err := os.ReadFile(service.Log(b.lab.State(), "dut", "says"))
			if err != nil || strings.TrimSpace(string(said)) != shape {
				t.Errorf("it says %q, %v; want %s", said, err, shape)
			}
			if b.lab != first || b.lab.Running("dut").Network != network {
				t.Errorf("%s: on another lab, or in another network", shape)
			}
			rec, err := b.trial(ctx, r, 1)
			if err != nil || rec.Trial.RxPackets == 0 {
				t.Errorf("%s: %d packets, %v, %q", shape, rec.Trial.RxPackets, err, rec.Trial.Reasons)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestASweepKeepsALabWithHealthChecks: the checks wait while services are exchanged, and begin again.
func TestASweepKeepsALabWithHealthChecks(t *testing.T) {
	labtest.Experiment(t)
	ctx := context.Background()
	experiment, _ := prepare(t, "checked", `
topology:
  nodes:
    gen: {}
    dut:
      runtime: netns
      app: {kind: forward, backend: raw}
      restart: on-failure
      healthcheck: {exec: [sh, -c, "pidof sleep"], interval: 100ms, retries: 3}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, rate_pps: 1000, duration: 500ms, warmup: 50ms, outliers: 10}
sweep: {nodes.dut.services: [[{name: s, run: [sh, -c, "echo one; exec sleep 1001"]}], [{name: s, run: [sh, -c, "echo two; exec sleep 1001"]}]]}
`)
	err := onBench(ctx, t, experiment, func(b *bench, _ run) error {
		first := b.lab
		for i, want := range []string{"one", "two", "one"} {
			r := experiment.runs[i%2]
			if err := b.set(ctx, r); err != nil {
				return err
			}
			if b.lab != first {
				t.Errorf("%s: on another lab", want)
			}
			said, err := os.ReadFile(service.Log(b.lab.State(), "dut", "s"))
			if err != nil || strings.TrimSpace(string(said)) != want {
				t.Errorf("it says %q, %v; want %s", said, err, want)
			}
			healths, err := watch.Health(b.lab.Lab)
			if err != nil || len(healths) != 1 || healths[0].Status != health.Healthy || healths[0].Restarts > 0 {
				t.Errorf("%s: %+v, %v", want, healths, err)
			}
			rec, err := b.trial(ctx, r, 1)
			if err != nil || rec.Trial.RxPackets == 0 || slices.ContainsFunc(rec.Trial.Reasons, func(r string) bool { return strings.Contains(r, "in this trial") }) {
				t.Errorf("%s: %d packets, %v, %q", want, rec.Trial.RxPackets, err, rec.Trial.Reasons)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

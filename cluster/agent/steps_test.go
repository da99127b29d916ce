package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/test/labtest"
)

// running is an agent as a process of this host, which measures for node n1 of a real API server.
//
//	nines-cluster agent ── gate ── kube-apiserver ── etcd
//	    └─ nines run: a trial in namespaces
type running struct {
	t       *testing.T
	plane   *controltest.Plane
	gate    *controltest.Gate
	program string
	folder  string // of trials
	config  string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     string
}

// nodeName is the node's that the agent measures for.
const nodeName = "n1"

// labelVeth is what the agent says of a node that has veth pairs.
const labelVeth = "tier.nines.dev/veth"

// TestAnAgentKilledAtEachStep kills the agent at each request by which it changes something: before it,
// and after it with the agent not told; and in the middle of a trial. The next agent goes on: it
// measures, says what is true, and nothing of a trial stays on the host.
func TestAnAgentKilledAtEachStep(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	labtest.Named(t, "agent") // the name of what an agent runs
	a := newRunning(t)
	a.start()
	a.tells(time.Now())
	first := []string{"POST nodelatencies", "PATCH nodes", "PATCH nodes/status", "POST events"}
	controltest.Eventually(t, "the agent has told everything", func(context.Context) error {
		for _, kind := range first {
			if !slices.ContainsFunc(a.gate.Steps(), func(s controltest.Step) bool { return s.Kind == kind }) {
				return fmt.Errorf("it has not done %s, but %v; %s", kind, a.gate.Steps(), a.said())
			}
		}
		return nil
	})
	a.kill()
	// The short form has the one after which the next agent finds what it has not written itself.
	points := []point{{"POST nodelatencies", controltest.After}}
	if labtest.Long() {
		points = nil
		for _, kind := range append(first, "PUT nodelatencies") {
			points = append(points, point{kind, controltest.Before}, point{kind, controltest.After})
		}
	}
	for _, one := range points {
		t.Run(fmt.Sprintf("%s %s", one.when, one.kind), func(t *testing.T) {
			a.t = t
			a.forget(one.kind)
			reached := a.gate.At(one.kind, 1, one.when, func(controltest.Step) bool { a.kill(); return false })
			a.start()
			controltest.Eventually(t, "the agent comes to "+one.kind, func(context.Context) error {
				select {
				case <-reached:
					return nil
				default:
					return fmt.Errorf("it has come to %v; %s", a.gate.Steps(), a.said())
				}
			})
			again := time.Now()
			a.start()
			a.tells(again)
			a.kill()
		})
	}
	t.Run("in the middle of a trial", func(t *testing.T) {
		a.t = t
		a.start()
		controltest.Eventually(t, "a trial runs", func(context.Context) error {
			if labs := a.labs(); labs == "" {
				return errors.New("there is no lab; " + a.said())
			}
			return nil
		})
		a.kill()
		again := time.Now()
		a.start()
		a.tells(again)
		a.stop()
	})
	a.t = t
	controltest.Eventually(t, "no lab is left", func(context.Context) error {
		if labs := a.labs(); labs != "" {
			return errors.New(labs)
		}
		return nil
	})
}

// point is a step at which the agent is killed.
type point struct {
	kind string
	when controltest.Moment
}

func newRunning(t *testing.T) *running {
	t.Helper()
	p := controltest.Start(t)
	p.Apply(t, v1alpha1.CRD)
	controltest.Eventually(t, "the API server serves the definition", func(ctx context.Context) error {
		_, err := p.Latencies.List(ctx, metav1.ListOptions{})
		return err
	})
	p.Node(t, nodeName, nil)
	// It is on the node, and has been promised what no node holds: the agent has something to tell.
	p.Pod(t, "hasty", map[string]string{request.Annotation: "p50 < 1ns", request.Placed: "{}"}, func(pod *v1.Pod) { pod.Spec.NodeName = nodeName })
	a := &running{t: t, plane: p, gate: p.NewGate(t), folder: t.TempDir(), log: filepath.Join(t.TempDir(), "agent.log")}
	a.program = filepath.Join(filepath.Dir(controltest.Program(t)), "nines-cluster")
	p.Through(a.gate)
	a.config = p.Kubeconfig(t)
	t.Cleanup(func() {
		a.kill()
		// What a killed trial has left, if the test fails.
		_ = exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), "down", "--all").Run()
	})
	return a
}

// start starts the agent. Its trials are short and do not wait for a quiet host: what they measure
// here is nobody's business.
func (a *running) start() {
	a.t.Helper()
	out, err := os.OpenFile(a.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		a.t.Fatal(err)
	}
	defer out.Close()
	a.cmd = exec.Command(a.program, "agent", "--node", nodeName, "--kubeconfig", a.config, "--listen", "127.0.0.1:0", "--folder", a.folder,
		"--spent", filepath.Join(a.folder, "spent.json"), "--tiers", "veth", "--idle", "0", "--interval", "5s", "--peers", "0", "--duration", "1s", "--rate", "200")
	a.cmd.Stdout, a.cmd.Stderr = out, out
	// All of it is killed together, as a container is.
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // it is killed
		close(ended)
	}(a.cmd, a.ended)
}

// kill kills the agent and its trial, if it runs.
func (a *running) kill() { a.signal(syscall.SIGKILL) }

// stop ends the agent as Kubernetes does: it takes its trial down first.
func (a *running) stop() { a.signal(syscall.SIGTERM) }

func (a *running) signal(number syscall.Signal) {
	if a.cmd == nil {
		return
	}
	select {
	case <-a.ended:
		return
	default:
	}
	to := a.cmd.Process.Pid
	if number == syscall.SIGKILL {
		to = -to // its group
	}
	_ = syscall.Kill(to, number)
	<-a.ended
}

// tells waits until the agent has told all of what it measured since.
func (a *running) tells(since time.Time) {
	a.t.Helper()
	since = since.Truncate(time.Second).Add(time.Second) // times in the API have no parts of seconds
	controltest.Eventually(a.t, "the agent tells what it measures", func(ctx context.Context) error {
		object, err := a.plane.Latencies.Get(ctx, nodeName)
		if err != nil {
			return fmt.Errorf("%w; %s", err, a.said())
		}
		if len(object.Figures) != 1 {
			a.t.Fatalf("one tier is measured, and there are %d figures: %+v", len(object.Figures), object.Figures)
		}
		f := nodefit.Read(object.Figures)[0]
		if f.Tier != "veth" || f.MeasuredAt.Before(since) {
			return fmt.Errorf("its figure is of %s; %s", f.MeasuredAt, a.said())
		}
		// A host that took too much of the trial makes it invalid, and so no figure at all.
		if object.Figures[0].Verdict != v1alpha1.Invalid && f.StateAt(time.Now()) == nodefit.Faulty {
			a.t.Fatalf("the agent has told what contradicts itself: %s", f.Fault)
		}
		return a.toldNode(ctx, since)
	})
}

func (a *running) toldNode(ctx context.Context, since time.Time) error {
	node, err := a.plane.Kube.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Labels[labelVeth] != "true" {
		return fmt.Errorf("the node has the labels %v; %s", node.Labels, a.said())
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == agent.ConditionHolds && !condition.LastHeartbeatTime.Time.Before(since) {
			return nil
		}
	}
	return fmt.Errorf("the node has the conditions %+v; %s", node.Status.Conditions, a.said())
}

// forget has the next agent do a step again that it does only where something is new.
func (a *running) forget(kind string) {
	a.t.Helper()
	ctx := a.t.Context()
	var err error
	switch kind {
	case "POST nodelatencies":
		if err = a.plane.Latencies.Delete(ctx, nodeName); apierrors.IsNotFound(err) {
			err = nil
		}
	case "PATCH nodes":
		_, err = a.plane.Kube.CoreV1().Nodes().Patch(ctx, nodeName, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+labelVeth+`":null}}}`), metav1.PatchOptions{})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// labs are those of trials, as nines has them; empty if there is none.
func (a *running) labs() string {
	out, err := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), "ls", "--format", "json").Output()
	if err != nil {
		a.t.Fatalf("nines ls: %v", err)
	}
	if text := strings.TrimSpace(string(out)); text != "[]" {
		return text
	}
	return ""
}

// said is the end of the agent's log.
func (a *running) said() string {
	const most = 600
	text, _ := os.ReadFile(a.log)
	return "its log: " + strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// podRuntime starts nodes that are pods on a Kubernetes cluster. On this host a node is two
// processes: nines-init in namespaces with nothing in them, which stands for the node wherever nines
// wants its first process, and the pod's keeper, which ends when the pod does. What speaks to the
// cluster is nines-cluster (cluster/pod): nines itself has no module of Kubernetes.
type podRuntime struct{}

// Check checks that the program that speaks to clusters is there.
func (podRuntime) Check(plan.Node) error {
	_, err := ClusterProgram()
	return err
}

// ClusterProgram finds nines-cluster.
func ClusterProgram() (string, error) {
	path, err := Program(clusterProgram)
	if missing := new(exit.MissingError); errors.As(err, &missing) {
		missing.Remedy = "packages do not have the cluster's programs: in a checkout, run make setup-cluster, which builds them once (some minutes)"
	}
	return path, err
}

const clusterProgram = "nines-cluster"

func (podRuntime) StartStep(n plan.Node) string {
	where := "where its scheduler chooses"
	if n.Pod != nil && n.Pod.Host != "" {
		where = "on " + n.Pod.Host
	}
	return "start nines-init, which represents a pod on the cluster " + where
}

// Start makes the pod, and returns when it runs.
func (podRuntime) Start(ctx context.Context, p Place, n plan.Node) (*Running, error) {
	program, err := ClusterProgram()
	if err != nil {
		return nil, err
	}
	r, err := p.StartNetns(n.Name, n.HostName, Unwalled)
	if err != nil {
		return nil, err
	}
	order, err := p.order(n)
	if err == nil {
		err = p.makePod(ctx, program, n, order)
	}
	if err == nil {
		r.Keeper, err = p.keepPod(program, n)
	}
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return r, nil
}

// Alive is true while the pod runs.
func (podRuntime) Alive(r *Running) bool { return r.InNamespaces() && r.Keeper.Alive() }

// Command runs nines-cluster, which stands for a command in the pod, with its input, output and exit
// code. The entry's CPUs are this host's, and the environment is the pod's.
func (v podRuntime) Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error) {
	switch {
	case len(e.Argv) == 0:
		return nil, fmt.Errorf("node %q: no command given", n.Name)
	case e.Dir != "":
		return nil, fmt.Errorf("node %q: a command in a pod starts in its image's folder, not in %s", n.Name, e.Dir)
	case !v.Alive(r):
		return nil, fmt.Errorf("node %q is dead: its pod has ended; nines apply with the lab's file rebuilds it", n.Name)
	}
	program, err := ClusterProgram()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"pod", "exec", p.podFile(n.Name), "--"}, e.Argv...)...)
	cmd.Env = os.Environ()
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = KillDelay
	return cmd, nil
}

// Seen names the engine as the image has it in its PATH.
func (podRuntime) Seen(Files) Files { return Files{Engine: "nines-engine"} }

// ServeEngine makes the command of a process that runs the engine in the pod, and serves its control
// socket here.
func (podRuntime) ServeEngine(p Place, n plan.Node, socket string) (*exec.Cmd, error) {
	program, err := ClusterProgram()
	if err != nil {
		return nil, err
	}
	return exec.Command(program, "pod", "relay", p.podFile(n.Name), socket, "--", "nines-engine"), nil
}

// makePod makes the pod. Its journal step is there before the pod, and the process that makes it has
// a step, too: `down` ends that first, so that no pod comes after it.
func (p Place) makePod(ctx context.Context, program string, n plan.Node, order PodOrder) error {
	if err := os.MkdirAll(p.NodeFolder(n.Name), 0o700); err != nil {
		return err
	}
	path := filepath.Join(p.NodeFolder(n.Name), "order.json")
	if err := writeOrder(path, order); err != nil {
		return err
	}
	step := journal.Step{
		Kind: KindPod, Node: n.Name, Name: order.Name, Target: order.Namespace, Path: order.Kubeconfig, Value: order.Context,
		Token: order.Token(),
	}
	return p.Journal.Make(step, func() (journal.Learnt, error) {
		pod, err := p.orderPod(ctx, program, n, path)
		return journal.Learnt{Took: pod.UID}, err
	})
}

// orderPod runs nines-cluster until the pod runs, and keeps what it says of it.
func (p Place) orderPod(ctx context.Context, program string, n plan.Node, order string) (Pod, error) {
	token := p.Journal.Token("pod/" + n.Name)
	log, err := os.Create(filepath.Join(p.Logs, n.Name+".pod.log"))
	if err != nil {
		return Pod{}, err
	}
	defer log.Close()
	made := p.podFile(n.Name)
	cmd := exec.CommandContext(ctx, program, "pod", "start", order, made)
	cmd.Env = append(os.Environ(), "NINES_TOKEN="+token)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = KillDelay
	cmd.Stderr = log
	said, err := cmd.StdoutPipe() // cmd.Wait closes it
	if err != nil {
		return Pod{}, err
	}
	err = process.Make(p.Journal, journal.Step{Node: n.Name, Name: "make pod", Token: token}, func() (proc.Identity, error) {
		if err := cmd.Start(); err != nil {
			return proc.Identity{}, err
		}
		return proc.Of(cmd.Process.Pid)
	})
	if err != nil {
		return Pod{}, err
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		p.Progress(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return Pod{}, saidBy(ctx, err, log.Name())
	}
	return p.Pod(n.Name)
}

// keepPod starts the pod's keeper.
func (p Place) keepPod(program string, n plan.Node) (keeper proc.Identity, err error) {
	token := p.Journal.Token("keep/" + n.Name)
	err = process.Make(p.Journal, journal.Step{Node: n.Name, Name: keeperStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.OpenFile(filepath.Join(p.Logs, n.Name+".pod.log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		keeper, err = Spawn(exec.Command(program, "pod", "keep", p.podFile(n.Name)), token, log)
		return keeper, err
	})
	return keeper, err
}

// keeperStep is the Name of a pod's keeper in the journal.
const keeperStep = "keep pod"

// podFile is where a running pod is written down.
func (p Place) podFile(nodeName string) string {
	return filepath.Join(p.NodeFolder(nodeName), "pod.json")
}

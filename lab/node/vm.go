package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestimage"
)

// vmRuntime starts nodes that are virtual machines. Each is two processes on the host: nines-init
// holds namespaces, as for a netns node, so that whatever runs in them ends with it; QEMU runs in
// them. It starts when the links are made, as its taps are in the fabric or in the nodes at the
// other ends. nines-guest and nines-node then set up addresses, routes and the engine from inside.
type vmRuntime struct{}

// Check checks that the host can run virtual machines.
func (vmRuntime) Check(n plan.Node) error {
	if n.Image != nil {
		if err := checkImage(n); err != nil {
			return err
		}
	}
	if !isLocal(n.VM.Kernel) {
		if _, err := guestimage.ParseKernel(n.VM.Kernel); err != nil {
			return fmt.Errorf("vm: kernel: %w", err)
		}
	}
	if _, err := vm.FindProgram(); err != nil {
		return err
	}
	for _, program := range []string{"nines-guest", "nines-node", "nines-engine", "nines-script", "nines-poller"} {
		if _, err := Program(program); err != nil {
			return err
		}
	}
	_, err := guestShell()
	return err
}

func (vmRuntime) StartStep(plan.Node) string {
	return "start nines-init in namespaces of its own, for QEMU"
}

// BootSteps says how QEMU starts.
func (vmRuntime) BootSteps(n plan.Node) []string {
	memory := "of ordinary memory"
	if n.VM.Huge {
		memory = "in the host's hugepages"
	}
	var steps []string
	if n.Image != nil {
		steps = append(steps, fmt.Sprintf("make a disk of the image %s, if it does not exist yet", n.Image.Name))
	}
	steps = append(steps, fmt.Sprintf("start QEMU with the kernel %s, %d MiB %s, its other threads on CPUs %s", n.VM.Kernel,
		n.VM.MemoryBytes>>20, memory, cpulist.Format(n.VM.EmulatorCPUs)))
	for i := range n.VM.VCPUs {
		cpus := n.CPUs
		if n.VM.Pinned {
			cpus = n.RunOn()[i : i+1]
		}
		steps = append(steps, fmt.Sprintf("pin CPU %d of the guest to CPUs %s", i, cpulist.Format(cpus)))
	}
	return steps
}

func (vmRuntime) Start(_ context.Context, p Place, n plan.Node) (*Running, error) {
	return p.StartNetns(n.Name, n.HostName, Unwalled)
}

// Alive is true while QEMU runs too; it starts when the node's links are made.
func (vmRuntime) Alive(r *Running) bool { return r.InNamespaces() && r.QEMU.Alive() }

// Command runs nines-node, which talks to the guest's agent.
func (v vmRuntime) Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error) {
	if len(e.Argv) == 0 {
		return nil, fmt.Errorf("node %q: no command given", n.Name)
	}
	if !v.Alive(r) {
		return nil, r.gone("its virtual machine has ended")
	}
	program, err := Program("nines-node")
	if err != nil {
		return nil, err
	}
	return guestCommand(ctx, program, p.machineFile(n.Name), n, e), nil
}

func (vmRuntime) Seen(Files) Files {
	return Files{Engine: guestEngine, ScriptCommand: GuestScript, Scripts: guestScripts}
}

// ScriptRelay is nines-node in the guest.
func (vmRuntime) ScriptRelay(folder string) []string { return []string{GuestNode, "scripts", folder} }

// Sockets are the sockets of the engine and the agent.
func (vmRuntime) Sockets(p Place, n plan.Node) []string {
	return []string{EngineSocket(p.StateDir, n.Name), filepath.Join(p.machineFolder(n.Name), "agent0")}
}

// Untimed reads the verdict on how the guest's instructions are executed.
func (vmRuntime) Untimed(p Place, n plan.Node) string {
	text, err := os.ReadFile(p.verdictFile(n.Name))
	if err != nil {
		return ""
	}
	return string(text)
}

// machineFolder is the folder of a virtual machine: the sockets of its agent and its
// monitor, and its console's log. No guest sees it.
func (p Place) machineFolder(nodeName string) string {
	return filepath.Join(p.StateDir, machinesFolder, nodeName)
}

// machineFile is the file with a machine's configuration, in which other processes find its agent.
func (p Place) machineFile(nodeName string) string {
	return filepath.Join(p.machineFolder(nodeName), "machine.json")
}

// verdictFile is the file that says whether the guest's timings are valid.
func (p Place) verdictFile(nodeName string) string {
	return filepath.Join(p.machineFolder(nodeName), "verdict")
}

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
)

// bootPatience bounds the wait for a guest's agent: a kernel under TCG needs seconds of CPU time,
// which take minutes on a host whose CPUs all poll.
const bootPatience = 4 * time.Minute

// qemuStep and consoleStep are the Names in the journal of a virtual machine's QEMU, and of the keeper of its console.
const (
	qemuStep    = "qemu"
	consoleStep = "console"
)

// Boot starts QEMU for each machine and sets up its guest.
func (vmRuntime) Boot(ctx context.Context, p Place, machines []Machine) error {
	kernels := map[string]vmKernel{}
	for _, m := range machines {
		key := kernelKey(m.Node)
		if _, made := kernels[key]; made {
			continue
		}
		k, err := p.findKernel(ctx, m.Node)
		if err != nil {
			return fmt.Errorf("node %q: %w", m.Node.Name, err)
		}
		kernels[key] = k
	}
	disks := map[string]string{}
	for _, m := range machines {
		disk, err := p.rootDisk(ctx, m.Node)
		if err != nil {
			return fmt.Errorf("node %q: %w", m.Node.Name, err)
		}
		disks[m.Node.Name] = disk
	}
	return Each(ctx, len(machines), func(i int) error {
		m := machines[i]
		if err := p.boot(ctx, m, kernels[kernelKey(m.Node)], disks[m.Node.Name]); err != nil {
			return fmt.Errorf("node %q: %w", m.Node.Name, err)
		}
		return nil
	})
}

// boot starts a node's QEMU and sets up its guest by the plan.
func (p Place) boot(ctx context.Context, m Machine, k vmKernel, root string) error {
	n := m.Node
	if err := os.MkdirAll(p.machineFolder(n.Name), 0o700); err != nil {
		return err
	}
	if _, err := PrepareEngineSocket(p.StateDir, n.Name); err != nil {
		return err
	}
	ports, taps, err := m.Connect()
	defer func() {
		for _, tap := range taps {
			_ = tap.Close()
		}
	}()
	if err != nil {
		return err
	}
	files := p.vmFiles(n, k)
	files.Root = root
	config := vmConfig(n, files, ports)
	config.ConsolePipe = filepath.Join(config.Dir, "console")
	if err := p.keepMachine(n, config, k.choice); err != nil {
		return err
	}
	var guest *vm.Machine
	err = vm.BootPatience(config.Accelerator, bootPatience).Boot(ctx, p.Progress, func(ctx context.Context) (err error) {
		keeper, err := p.keepConsole(ctx, n, config)
		if err != nil {
			return err
		}
		if err = p.startQEMU(ctx, m, config, taps); err != nil {
			return err
		}
		guest, err = attachTo(ctx, config, m.Running.QEMU, bootPatience)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil && hasEnded(m.Running.QEMU, timeToEnd(err)): // the end of the agent's socket may be seen first
			hasEnded(keeper, time.Second) // with QEMU, and then all that the guest has printed is in the log
			return fmt.Errorf("the guest did not start: %w", config.Died(LastLines(p.qemuLog(n)), nil))
		}
		return fmt.Errorf("the guest did not start: %w%s", err, p.lastOutput(n, config))
	}, func() error { return p.endQEMU(ctx, n) })
	if err != nil {
		return err
	}
	defer guest.Close()
	threads, err := guest.VCPUThreads(ctx)
	if err == nil {
		err = pinVCPUs(n, m.Running.QEMU, threads)
	}
	if err == nil {
		err = p.setUpGuest(ctx, guest, m)
	}
	return err
}

// rootDisk is the disk with the files of a node's image; empty for a node without one. The guest
// keeps what it changes in its memory, so each boot has the image as it is.
func (p Place) rootDisk(ctx context.Context, n plan.Node) (string, error) {
	if n.Image == nil {
		return "", nil
	}
	if err := os.MkdirAll(p.machineFolder(n.Name), 0o700); err != nil {
		return "", err
	}
	kept := p.vmImageFile(n)
	unpacked, err := p.imageOf(ctx, n, kept)
	if err != nil {
		return "", err
	}
	disk, err := images(p.Progress).Disk(ctx, unpacked)
	return disk, errors.Join(err, keepImage(kept, unpacked))
}

// vmImageFile says which image a machine's disk is of.
func (p Place) vmImageFile(n plan.Node) string {
	return filepath.Join(p.machineFolder(n.Name), "image.json")
}

// vmFiles returns a machine's files and what this host offers it.
func (p Place) vmFiles(n plan.Node, k vmKernel) vmFiles {
	_, vhost := os.Stat("/dev/vhost-net")
	_, second := os.Stat("/sys/devices/system/node/node1")
	files := vmFiles{
		Dir: p.machineFolder(n.Name), EngineSocket: EngineSocket(p.StateDir, n.Name),
		Kernel: k.kernel, Initrd: k.initrd, Modules: k.modules, Accelerator: k.choice.Accelerator,
		VhostNet: vhost == nil, NUMA: second == nil,
	}
	if p.Plan.Hugepages != nil {
		files.PageBytes = p.Plan.Hugepages.PageBytes
	}
	return files
}

// keepMachine saves how to reach a machine, and whether its timings are valid.
func (p Place) keepMachine(n plan.Node, config vm.Config, choice vm.Choice) error {
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(p.machineFile(n.Name), text, 0o644),
		os.WriteFile(p.verdictFile(n.Name), []byte(choice.Verdict()), 0o644))
}

// keepConsole starts the keeper of what the guest prints on its console.
func (p Place) keepConsole(ctx context.Context, n plan.Node, config vm.Config) (proc.Identity, error) {
	k := outputKeeper{
		init: p.InitPath, log: config.ConsoleLog(), ended: config.ConsoleLog() + ".ended", pipe: config.ConsolePipe,
		token: p.Journal.Token("console/" + n.Name), cpus: n.VM.EmulatorCPUs,
	}
	var id proc.Identity
	err := process.Make(p.Journal, journal.Step{Node: n.Name, Name: consoleStep, Token: k.token}, func() (_ proc.Identity, err error) {
		id, err = k.start(ctx)
		return id, err
	})
	return id, err
}

// startQEMU starts QEMU in the node's namespaces, with the taps open.
func (p Place) startQEMU(ctx context.Context, m Machine, config vm.Config, taps []*os.File) error {
	if page := config.Memory.HugepageBytes; page > 0 {
		if err := hugepages.AwaitMemory(ctx, m.Node.VM.MemoryNode, m.Node.VM.MemoryBytes, page); err != nil {
			return err
		}
	}
	cmd, err := vm.Command(config)
	if err != nil {
		return err
	}
	token := p.Journal.Token("qemu/" + m.Node.Name)
	step := journal.Step{Node: m.Node.Name, Name: qemuStep, Token: token}
	return process.Make(p.Journal, step, func() (proc.Identity, error) {
		log, err := os.Create(p.qemuLog(m.Node))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		m.Running.QEMU, err = Detached(ctx, m.Running, p.InitPath, Entry{
			Argv: append([]string{cmd.Path}, cmd.Args[1:]...), CPUs: m.Node.VM.EmulatorCPUs, Detach: token,
			Env: []string{"NINES_TOKEN=" + token}, Files: taps,
		}, log)
		return m.Running.QEMU, err
	})
}

// endQEMU ends the QEMU of a node whose guest did not come up.
func (p Place) endQEMU(ctx context.Context, n plan.Node) error {
	return p.Journal.Undo(ctx, p.Progress, func(e journal.Entry) bool {
		return e.Kind == process.Kind && e.Node == n.Name && (e.Name == qemuStep || e.Name == consoleStep)
	})
}

// qemuLog is the file with QEMU's own errors.
func (p Place) qemuLog(n plan.Node) string { return filepath.Join(p.Logs, n.Name+".qemu.log") }

// timeToEnd is how long QEMU may take to have ended after an error of the agent's session. It closes the agent's socket
// only as it ends, and may have to wait for a CPU then.
func timeToEnd(err error) time.Duration {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return 30 * time.Second
	}
	return time.Second
}

// hasEnded reports whether a process has ended, or does so in time.
func hasEnded(id proc.Identity, in time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), in)
	defer cancel()
	return id.AwaitEnd(ctx) == nil
}

// lastOutput is the last output of QEMU and the guest's kernel.
func (p Place) lastOutput(n plan.Node, config vm.Config) string {
	said := ""
	for _, log := range []string{p.qemuLog(n), config.ConsoleLog()} {
		if lines := LastLines(log); lines != "" {
			said += fmt.Sprintf("; the last lines of %s: %s", log, lines)
		}
	}
	return said
}

// setUpGuest sets up the guest's interfaces by the plan.
func (p Place) setUpGuest(ctx context.Context, guest *vm.Machine, m Machine) error {
	input, err := json.Marshal(GuestSetup{Plan: p.Plan, Node: m.Node.Name, Sysctls: m.Sysctls})
	if err != nil {
		return err
	}
	output, err := inGuest(ctx, guest, input, GuestNode, "setup")
	if err != nil {
		return err
	}
	if err := m.Record(output); err != nil {
		return fmt.Errorf("the guest's list of interfaces: %w", err)
	}
	_, err = guest.Spawn(ctx, guestagent.Request{Argv: []string{GuestNode, "relay"}, Log: "/run/nines-relay.log"})
	return err
}

package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/agent"
	"nines.dev/nines/vm/image"
)

// A virtual machine is two processes of the host's. nines-init holds namespaces, as for
// a node of the runtime netns, so that whatever runs in them ends with it; QEMU runs
// there, and is started when the links are made, for its taps are in the fabric or in
// the nodes at the other ends. What else a node has, addresses, routes, an engine, is
// then made inside, by nines-guest and nines-node.

// bootPatience bounds the wait for a guest's agent: translated kernels need seconds of a
// CPU, which on a host whose CPUs all poll are minutes.
const bootPatience = 4 * time.Minute

// guestPatience bounds what is asked of a guest that runs. A translated engine alone
// needs some 5 s of a CPU to start.
const guestPatience = 3 * time.Minute

// checkVM finds out, before anything is made, whether the host can run virtual machines.
func checkVM(n plan.Node) error {
	if _, err := exec.LookPath(vm.Program); err != nil {
		return fmt.Errorf("node %q: %w", n.Name, &vm.NoQEMUError{})
	}
	for _, program := range []string{"nines-guest", "nines-node"} {
		if _, err := node.Program(program); err != nil {
			return err
		}
	}
	_, err := busybox()
	return err
}

// busybox is the shell and the tools of guests.
func busybox() (string, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return "", &host.MissingError{
			Capability: "busybox-static", Reason: "there is no busybox, which a virtual machine's shell is",
			Remedy: "apt-get install busybox-static, or use another runtime than vm",
		}
	}
	return path, nil
}

// vmKernel is what a machine boots from.
type vmKernel struct {
	kernel, initrd, modules string
	choice                  vm.Choice
}

// startMachines starts QEMU for each new virtual machine, and sets up its guest.
func (b *builder) startMachines(ctx context.Context, w work) error {
	guests := slices.DeleteFunc(slices.Clone(w.nodes), func(n plan.Node) bool { return !node.IsVM(n) })
	kernels := map[string]vmKernel{}
	for _, n := range guests {
		key := n.VM.Kernel + " " + string(n.VM.Acceleration)
		if _, made := kernels[key]; made {
			continue
		}
		k, err := b.vmKernel(ctx, n)
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		kernels[key] = k
	}
	return node.Each(ctx, len(guests), func(i int) error {
		n := guests[i]
		err := b.startMachine(ctx, n, kernels[n.VM.Kernel+" "+string(n.VM.Acceleration)])
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		return nil
	})
}

// vmKernel finds or fetches a kernel, and finds out how its guests can be run.
func (b *builder) vmKernel(ctx context.Context, n plan.Node) (vmKernel, error) {
	guest, err := node.Program("nines-guest")
	if err != nil {
		return vmKernel{}, err
	}
	store := image.Store{Dir: image.DefaultDir(), Guest: guest, Progress: b.progress}
	k, err := b.openKernel(ctx, store, n.VM.Kernel)
	if err != nil {
		return vmKernel{}, err
	}
	found := vmKernel{kernel: k.Image, modules: k.Modules, choice: vm.Choice{Accelerator: vm.TCG, Reason: "the file says so (acceleration: tcg)"}}
	if n.VM.Acceleration != spec.AccelerationTCG {
		if found.choice, err = vm.Choose(ctx, k.Image, k.Initrd, store.Dir); err != nil {
			return vmKernel{}, err
		}
	}
	if n.VM.Acceleration == spec.AccelerationKVM && found.choice.Accelerator != vm.KVM {
		return vmKernel{}, &host.MissingError{
			Capability: host.FeatureKVM, Reason: found.choice.Reason,
			Remedy: "let the host have KVM (the firmware's VT-x or AMD-V, or nested virtualisation where the host is a guest itself), or write acceleration: auto, where timings then mean nothing",
		}
	}
	found.initrd, err = b.guestInitrd(k)
	return found, err
}

func (b *builder) openKernel(ctx context.Context, store image.Store, name string) (*image.Kernel, error) {
	if name == "host" || filepath.IsAbs(name) {
		return store.Local(ctx, name)
	}
	k, err := store.Kernel(ctx, name)
	if err != nil && ctx.Err() == nil && !errors.As(err, new(*image.MissingError)) {
		return nil, &host.MissingError{
			Capability: "a kernel for virtual machines", Reason: fmt.Sprintf("the kernel %q could not be fetched", name), Err: err,
			Remedy: "see that apt-get update works here, or name a mirror of Debian in NINES_DEBIAN_MIRROR; offline, vm: {kernel: host} or the path of a kernel's image needs no mirror",
		}
	}
	return k, err
}

// guestInitrd is a kernel's initramfs with what the guest of a node has besides. Linux
// unpacks one archive after the other (Documentation/driver-api/early-userspace/).
func (b *builder) guestInitrd(k *image.Kernel) (string, error) {
	dir := filepath.Join(b.state.dir, "vms")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "initrd-"+k.Version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	files, err := guestFiles()
	if err != nil {
		return "", err
	}
	out, err := os.Create(path + ".new")
	if err != nil {
		return "", err
	}
	base, err := os.Open(k.Initrd)
	if err == nil {
		_, err = io.Copy(out, base)
		_ = base.Close()
	}
	if err == nil {
		err = image.Overlay(out, files)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("write the guest's initramfs: %w", err)
	}
	return path, os.Rename(path+".new", path)
}

// guestFiles are busybox with its applets, the engine and nines-node.
func guestFiles() ([]image.File, error) {
	shell, err := busybox()
	if err != nil {
		return nil, err
	}
	engine, err := node.Program("nines-engine")
	if err != nil {
		return nil, err
	}
	self, err := node.Program("nines-node")
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command(shell, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("busybox --list: %w", err)
	}
	files := []image.File{
		{Name: "bin/busybox", Path: shell}, {Name: node.GuestEngine, Path: engine}, {Name: node.GuestNode, Path: self},
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			files = append(files, image.File{Name: "bin/" + applet, Target: "busybox"})
		}
	}
	return files, nil
}

// vmPorts opens what a machine's interfaces are connected to. The caller closes the
// files, which QEMU has from descriptor 3 on.
func (b *builder) vmPorts(n plan.Node) (ports []node.VMPort, taps []*os.File, err error) {
	for _, i := range n.Interfaces {
		made, e := endpointOf(b.plan, n.Name, i.Name)
		if made == nil {
			return nil, taps, fmt.Errorf("interface %s is on no link", i.Name)
		}
		if made.Kind.Descriptor().End.IsHardware() {
			ports = append(ports, node.VMPort{HostDevice: e.Function.Address})
			continue
		}
		if e.Attach == plan.AttachVhost {
			path := link.SocketPath(link.SocketsDir(b.state.dir), e.Socket)
			if !e.SocketServer {
				err = link.RemoveStaleSocket(path)
			}
			ports = append(ports, node.VMPort{Socket: path, Server: !e.SocketServer})
		} else {
			var tap *os.File
			if tap, err = b.site.OpenTap(*made, e); tap != nil {
				taps = append(taps, tap)
				ports = append(ports, node.VMPort{FD: 2 + len(taps)})
			} else if err == nil {
				err = fmt.Errorf("interface %s: a virtual machine cannot join a %s link", i.Name, made.Kind)
			}
		}
		if err != nil {
			return nil, taps, err
		}
	}
	return ports, taps, nil
}

// startMachine starts a node's QEMU and makes its guest the node of the plan.
func (b *builder) startMachine(ctx context.Context, n plan.Node, k vmKernel) error {
	files := node.VMHost()
	files.Dir, files.EngineSocket = node.VMFolder(b.state.dir, n.Name), b.EngineSocket(n.Name)
	files.Kernel, files.Initrd, files.Modules, files.Accelerator = k.kernel, k.initrd, k.modules, k.choice.Accelerator
	if b.plan.Hugepages != nil {
		files.PageBytes = b.plan.Hugepages.PageBytes
	}
	if err := os.MkdirAll(files.Dir, 0o700); err != nil {
		return err
	}
	ports, taps, err := b.vmPorts(n)
	defer func() {
		for _, tap := range taps {
			_ = tap.Close()
		}
	}()
	if err != nil {
		return err
	}
	config := node.VMConfig(n, files, ports)
	if err := errors.Join(writeJSON(node.VMFile(b.state.dir, n.Name), config), writeFile(b.vmVerdict(n.Name), []byte(k.choice.Verdict()))); err != nil {
		return err
	}
	var qemu proc.Identity
	var m *vm.Machine
	err = vm.BootPatience(config.Accelerator, bootPatience).Boot(ctx, b.progress, func(ctx context.Context) (err error) {
		if qemu, err = b.startQEMU(ctx, n, config, taps); err != nil {
			return err
		}
		if m, err = attachTo(ctx, config, qemu, bootPatience); err != nil {
			return fmt.Errorf("the guest did not start: %w%s", err, b.vmSaid(n.Name, config))
		}
		return nil
	}, func() error { return b.endQEMU(ctx, n) })
	if err != nil {
		return err
	}
	defer m.Close()
	threads, err := m.VCPUThreads(ctx)
	if err == nil {
		err = node.PinVCPUs(n, qemu, threads)
	}
	if err == nil {
		err = b.setUpGuest(ctx, m, n)
	}
	return err
}

// startQEMU starts QEMU in the node's namespaces, with the taps open.
func (b *builder) startQEMU(ctx context.Context, n plan.Node, config vm.Config, taps []*os.File) (proc.Identity, error) {
	cmd, err := vm.Command(config)
	if err != nil {
		return proc.Identity{}, err
	}
	token := b.journal.Token("qemu/" + n.Name)
	step := journal.Step{Kind: journal.KindProcess, Node: n.Name, Name: node.QEMUProgram, Token: token}
	var qemu proc.Identity
	err = b.journal.Make(step, func() (journal.Learnt, error) {
		log, err := os.Create(b.vmLog(n.Name))
		if err != nil {
			return journal.Learnt{}, err
		}
		defer log.Close()
		qemu, err = node.Detached(ctx, b.running[n.Name], b.programs.init, node.Entry{
			Argv: append([]string{cmd.Path}, cmd.Args[1:]...), CPUs: n.VM.EmulatorCPUs, Detach: token,
			Env: []string{"NINES_TOKEN=" + token}, Files: taps,
		}, log)
		return journal.Learnt{PID: qemu.PID, StartTicks: qemu.StartTicks}, err
	})
	if err == nil {
		b.machines.Store(n.Name, qemu)
	}
	return qemu, err
}

// endQEMU ends the QEMU of a node whose guest did not come up.
func (b *builder) endQEMU(ctx context.Context, n plan.Node) error {
	world := journal.Host{BootID: b.journal.Header.BootID, Note: b.progress}
	return b.journal.Undo(ctx, world, func(e journal.Entry) bool {
		return e.Kind == journal.KindProcess && e.Node == n.Name && e.Name == node.QEMUProgram
	})
}

// vmLog is the file with QEMU's own errors.
func (l *Lab) vmLog(nodeName string) string {
	return filepath.Join(l.state.logs(), nodeName+".qemu.log")
}

// vmVerdict is the file that says what the guest's timings are worth.
func (l *Lab) vmVerdict(nodeName string) string {
	return filepath.Join(node.VMFolder(l.state.dir, nodeName), "verdict")
}

// vmSaid is what QEMU and the guest's kernel said last.
func (l *Lab) vmSaid(nodeName string, config vm.Config) string {
	said := ""
	for _, log := range []string{l.vmLog(nodeName), config.ConsoleLog()} {
		if lines := link.LastLines(log); lines != "" {
			said += fmt.Sprintf("; the last lines of %s: %s", log, lines)
		}
	}
	return said
}

// attachTo begins a session with a guest, unless its QEMU ends before.
func attachTo(ctx context.Context, config vm.Config, qemu proc.Identity, patience time.Duration) (*vm.Machine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it gave no session within %v", patience))
	defer cancel()
	alive, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		for alive.Err() == nil {
			if !qemu.Alive() {
				end(errors.New("QEMU has ended"))
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return vm.Attach(alive, config)
}

// session begins a session with a machine that runs.
func (l *Lab) session(ctx context.Context, nodeName string) (*vm.Machine, error) {
	config, err := l.machineConfig(nodeName)
	if err != nil {
		return nil, err
	}
	m, err := attachTo(ctx, config, l.machine(nodeName), guestPatience)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", nodeName, err)
	}
	return m, nil
}

func (l *Lab) machineConfig(nodeName string) (vm.Config, error) {
	var config vm.Config
	text, err := os.ReadFile(node.VMFile(l.state.dir, nodeName))
	if err != nil {
		return config, fmt.Errorf("read the machine of node %q: %w", nodeName, err)
	}
	return config, json.Unmarshal(text, &config)
}

// inGuest runs a program in a guest with an input, and returns its output.
func inGuest(ctx context.Context, m *vm.Machine, input []byte, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, guestPatience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code, err := m.Do(ctx, agent.Request{Argv: argv}, agent.Streams{Stdin: bytes.NewReader(input), Stdout: &stdout, Stderr: &stderr})
	if err == nil && code != 0 {
		err = fmt.Errorf("in the guest: %s", strings.TrimPrefix(strings.TrimSpace(stderr.String()), "nines-node: "))
	}
	return stdout.Bytes(), err
}

// setUpGuest makes the guest's interfaces those of the plan.
func (b *builder) setUpGuest(ctx context.Context, m *vm.Machine, n plan.Node) error {
	wanted := node.GuestSetup{Plan: b.plan, Node: n.Name, Sysctls: []map[string]string{appSysctls(n), n.Sysctls}}
	input, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	output, err := inGuest(ctx, m, input, node.GuestNode, "setup")
	if err != nil {
		return err
	}
	var settings []link.Setting
	if err := json.Unmarshal(output, &settings); err != nil {
		return fmt.Errorf("what the guest says of its interfaces: %w", err)
	}
	b.site.Record(settings)
	_, err = m.Spawn(ctx, agent.Request{Argv: []string{node.GuestNode, "relay"}, Log: "/run/nines-relay.log"})
	return err
}

// startGuestEngine starts the engine in a guest and tells it what to serve.
func (b *builder) startGuestEngine(ctx context.Context, n plan.Node) error {
	m, err := b.session(ctx, n.Name)
	if err != nil {
		return err
	}
	defer m.Close()
	// An app that changed has another engine, which ends with its input or a signal.
	if _, err := inGuest(ctx, m, nil, "sh", "-c", "pkill nines-engine; rm -f "+node.GuestEngineSocket); err != nil {
		return err
	}
	entry := entryFor(n, nil, ExecOptions{})
	_, err = m.Spawn(ctx, agent.Request{
		Argv: []string{node.GuestEngine, "--socket", node.GuestEngineSocket}, Env: entry.Env, Log: node.GuestEngineLog,
	})
	if err != nil {
		return err
	}
	if err := b.serve(ctx, n, b.machine(n.Name)); err != nil {
		said, _ := inGuest(ctx, m, nil, "tail", "-n5", node.GuestEngineLog)
		return fmt.Errorf("%w; its last lines: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// machine is the QEMU of a node; a process that never lived if there is none.
func (l *Lab) machine(nodeName string) proc.Identity {
	qemu, _ := l.machines.Load(nodeName)
	id, _ := qemu.(proc.Identity)
	return id
}

// machineAlive is true for a node whose QEMU runs, and for one that has none.
func (l *Lab) machineAlive(nodeName string) bool {
	n := findNode(l.plan, nodeName)
	if n == nil || !node.IsVM(*n) {
		return true
	}
	return l.machine(nodeName).Alive()
}

// Untimed says of this host and of the lab's virtual machines, where their instructions
// are translated, that their timings mean nothing, and why; nothing of others.
func (l *Lab) Untimed() []string {
	var list []string
	if host.Translated() {
		list = append(list, "this host is a virtual machine whose instructions are translated (QEMU's TCG), so timings mean nothing")
	}
	for _, n := range l.plan.Nodes {
		if !node.IsVM(n) {
			continue
		}
		text, err := os.ReadFile(l.vmVerdict(n.Name))
		if err == nil && len(text) > 0 {
			list = append(list, fmt.Sprintf("node %s is a virtual machine: %s", n.Name, text))
		}
	}
	return list
}

// GuestCPU is a CPU of the plan as an engine in a node numbers it.
func (l *Lab) GuestCPU(nodeName string, cpu int) int {
	if n := findNode(l.plan, nodeName); n != nil {
		return n.GuestCPU(cpu)
	}
	return cpu
}

// guestCommand is a command that runs in a guest: nines-node, which speaks to its agent.
func (l *Lab) guestCommand(ctx context.Context, n plan.Node, entry node.Entry) (*exec.Cmd, error) {
	if len(entry.Argv) == 0 {
		return nil, fmt.Errorf("node %q: no command given", n.Name)
	}
	if !l.Alive(n.Name) {
		return nil, fmt.Errorf("node %q is dead: its virtual machine has ended; nines apply with the lab's file makes it anew", n.Name)
	}
	program, err := node.Program("nines-node")
	if err != nil {
		return nil, err
	}
	return node.GuestCommand(ctx, program, node.VMFile(l.state.dir, n.Name), n, entry), nil
}

// guestDevices are the interfaces in a guest.
func (l *Lab) guestDevices(ctx context.Context, nodeName string) ([]link.Device, error) {
	m, err := l.session(ctx, nodeName)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	output, err := inGuest(ctx, m, nil, node.GuestNode, "inspect")
	if err != nil {
		return nil, err
	}
	var devices []link.Device
	return devices, json.Unmarshal(output, &devices)
}

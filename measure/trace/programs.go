package trace

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
)

// object holds the programs; `make build` compiles them from their sources in bpf.
//
//go:embed bpf
var object embed.FS

// programs are the recorder's loaded programs.
type programs struct {
	collection *ebpf.Collection
	attached   []link.Link
	// missing are tracepoints that the kernel lacks.
	missing []string
}

// room is the size of the programs' memory.
type room struct{ records, cpus uint32 }

// onlyStages are tracepoints that only follow packets.
var onlyStages = []string{"net_dev_queue", "net_dev_start_xmit", "netif_receive_skb", "skb_consume_udp"}

// load loads the programs into the kernel.
func load(room room, stages *Stages) (_ *programs, err error) {
	text, err := object.ReadFile("bpf/recorder.bpf.o")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this nines was built without its recorder; build it with make build")
	}
	if err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the recorder's programs: %w", err)
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, &exit.MissingError{
			Capability: host.FeatureBTF, Reason: "the kernel has no type information (BTF), which the recorder's programs need", Err: err,
			Remedy: "use a kernel with CONFIG_DEBUG_INFO_BTF, as those of distributions are, or trace: false",
		}
	}
	p := &programs{}
	for name, program := range spec.Programs {
		if stages == nil && slices.Contains(onlyStages, program.AttachTo) {
			delete(spec.Programs, name)
			continue
		}
		if lack := lacks(kernel, program); lack != "" {
			p.missing = append(p.missing, program.AttachTo+": "+lack)
			delete(spec.Programs, name)
		}
	}
	slices.Sort(p.missing)
	spec.Maps["records"].MaxEntries = room.records
	if stages != nil {
		spec.Maps["delays"].MaxEntries = room.cpus * delaysEach
		port := uint16(stages.UDPPort)
		if err := errors.Join(spec.Variables["udp_port"].Set(port>>8|port<<8), spec.Variables["ip_bytes"].Set(stages.ipBytes()), spec.Variables["id_mask"].Set(uint32(max(stages.Every, 1)-1))); err != nil {
			return nil, err
		}
	}
	p.collection, err = ebpf.NewCollection(spec)
	if err != nil && p.withoutFunctions(spec, err) {
		p.collection, err = ebpf.NewCollection(spec)
	}
	if err != nil {
		return nil, refused("does not load the recorder's programs", err)
	}
	return p, nil
}

// withoutFunctions removes the programs that attach to functions, and reports whether there were any:
// a kernel without CONFIG_FUNCTION_TRACER has only tracepoints, and returns EPERM.
func (p *programs) withoutFunctions(spec *ebpf.CollectionSpec, reason error) bool {
	if !errors.Is(reason, unix.EPERM) && !errors.Is(reason, unix.ENOTSUP) {
		return false
	}
	found := false
	for name, program := range spec.Programs {
		if program.AttachType == ebpf.AttachTraceFEntry {
			p.missing = append(p.missing, program.AttachTo+": this kernel lets no program attach to its functions")
			delete(spec.Programs, name)
			found = true
		}
	}
	slices.Sort(p.missing)
	return found
}

// lacks says why a program cannot attach; empty if it can.
func lacks(kernel *btf.Spec, program *ebpf.ProgramSpec) string {
	const absent = "this kernel was built without it"
	if program.AttachType != ebpf.AttachTraceFEntry {
		var tracepoint *btf.Typedef
		if kernel.TypeByName("btf_trace_"+program.AttachTo, &tracepoint) != nil {
			return absent
		}
		return ""
	}
	var function *btf.Func
	if kernel.TypeByName(program.AttachTo, &function) != nil {
		return absent
	}
	// Whether programs can attach to functions depends on the kernel's configuration and its
	// security modules: try it with an empty program.
	empty, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: program.AttachTo, License: program.License,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return "it is not a tracepoint, and this kernel lets programs attach to nothing else"
	}
	empty.Close()
	return ""
}

// Check returns an exit.MissingError if the kernel or the privileges allow no recording. It attaches
// nothing.
func Check() error {
	p, err := load(room{records: guard, cpus: 1}, &Stages{})
	if err != nil {
		return err
	}
	return p.close()
}

// attach starts the recording.
func (p *programs) attach() error {
	names := make([]string, 0, len(p.collection.Programs))
	for name := range p.collection.Programs {
		names = append(names, name)
	}
	// Ends before begins: otherwise a span that has begun would seem to last for ever.
	slices.Sort(names)
	slices.Reverse(names)
	for _, name := range names {
		attached, err := link.AttachTracing(link.TracingOptions{Program: p.collection.Programs[name]})
		if err != nil {
			return refused("does not attach the recorder to the tracepoint "+name, err)
		}
		p.attached = append(p.attached, attached)
	}
	return nil
}

// skipped is how often the kernel skipped a program because an event occurred in the middle of it
// on the same CPU (Linux 5.12; kernel/bpf/syscall.c, bpf_prog_inc_misses_counter). Errors leave it
// unknown.
func (p *programs) skipped() uint64 {
	var misses uint64
	for _, program := range p.collection.Programs {
		if stats, err := program.Stats(); err == nil {
			misses += stats.RecursionMisses
		}
	}
	return misses
}

// detach stops it; the rings stay.
func (p *programs) detach() error {
	var errs []error
	for _, attached := range p.attached {
		errs = append(errs, attached.Close())
	}
	p.attached = nil
	return errors.Join(errs...)
}

func (p *programs) close() error {
	err := p.detach()
	p.collection.Close()
	return err
}

func refused(what string, err error) error {
	missing := &exit.MissingError{Capability: "bpf", Reason: "the kernel " + what, Err: err,
		Remedy: "use Linux 6.1 or later with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS, or trace: false"}
	if errors.Is(err, unix.EPERM) {
		missing.Reason = "the recorder's programs need CAP_BPF and CAP_PERFMON"
		missing.Remedy = "run nines as root, or with these capabilities, or set trace: false"
	}
	// The verifier's log is long; its last line before the statistics says what is wrong.
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) && len(verifier.Log) > 1 {
		missing.Err = fmt.Errorf("%w: %s", verifier.Cause, strings.TrimSpace(verifier.Log[len(verifier.Log)-2]))
	}
	return missing
}

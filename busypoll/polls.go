package busypoll

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Polls counts the polls of NAPI instances by poller while it is open. It uses the kernel's
// tracepoint napi_poll, which every kind of poll passes. It needs BTF, and CAP_BPF with
// CAP_PERFMON. Meanwhile each poll, and each softirq, takes some tens of nanoseconds
// longer.
type Polls struct {
	counts, receives *ebpf.Map
	programs         []*ebpf.Program
	attached         []link.Link
}

// Poll is an instance and its poller: a thread, or a softirq.
type Poll struct {
	NAPI uint32
	// TID is 0 for a softirq: the thread in which it runs is unrelated.
	TID int
}

// Softirq is true for polls by a softirq, in whatever thread.
func (p Poll) Softirq() bool { return p.TID == 0 }

// PollCount is the number of polls, and of packets that they found.
type PollCount struct{ Polls, Packets uint64 }

func (c PollCount) plus(more PollCount) PollCount {
	return PollCount{c.Polls + more.Polls, c.Packets + more.Packets}
}

// pollsMost is how many pairs of instance and poller are counted.
const pollsMost = 16384

// CountPolls starts counting.
func CountPolls() (*Polls, error) {
	offset, err := idOffset()
	if err != nil {
		return nil, err
	}
	p := &Polls{}
	if err := p.start(offset); err != nil {
		return nil, errors.Join(fmt.Errorf("count polls: %w", err), p.Close())
	}
	return p, nil
}

func (p *Polls) start(idOffset int16) (err error) {
	p.counts, err = ebpf.NewMap(&ebpf.MapSpec{Name: "polls", Type: ebpf.Hash, KeySize: 8, ValueSize: 16, MaxEntries: pollsMost})
	if err != nil {
		return err
	}
	p.receives, err = ebpf.NewMap(&ebpf.MapSpec{Name: "receives", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return err
	}
	// The exit first, so that no CPU stays marked after its softirq.
	for _, at := range []struct {
		tracepoint string
		program    asm.Instructions
	}{
		{"softirq_exit", markProgram(p.receives, 0)},
		{"softirq_entry", markProgram(p.receives, 1)},
		{"napi_poll", pollsProgram(p.counts, p.receives, idOffset)},
	} {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: at.tracepoint, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: at.tracepoint,
			License: "GPL", Instructions: at.program,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", at.tracepoint, err)
		}
		p.programs = append(p.programs, program)
		attached, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return fmt.Errorf("%s: %w", at.tracepoint, err)
		}
		p.attached = append(p.attached, attached)
	}
	return nil
}

// netRXSoftirq is NET_RX_SOFTIRQ of include/linux/interrupt.h.
const netRXSoftirq = 3

// markProgram is trace_softirq_entry(unsigned int vec_nr), or _exit, of
// include/trace/events/irq.h: it marks whether the CPU is in the receive softirq. Polling
// threads turn softirqs off, on PREEMPT_RT too, so none of their polls falls inside a
// softirq.
func markProgram(receives *ebpf.Map, mark int32) asm.Instructions {
	const key = -4
	return asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // vec_nr
		asm.JNE.Imm32(asm.R6, netRXSoftirq, "out"),
		asm.StoreImm(asm.RFP, key, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.LoadMapPtr(asm.R1, receives.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.StoreImm(asm.R0, 0, int64(mark), asm.Word),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
}

// pollsProgram is trace_napi_poll(struct napi_struct *napi, int work, int budget) of
// include/trace/events/napi.h: it adds 1 and work to the values of {napi_id, thread};
// thread is 0 on a marked CPU.
func pollsProgram(counts, receives *ebpf.Map, idOffset int16) asm.Instructions {
	const key, tid, first = -8, -4, -24
	return asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // napi
		asm.LoadMem(asm.R8, asm.R1, 8, asm.DWord), // work
		asm.LoadMem(asm.R7, asm.R6, idOffset, asm.Word),
		asm.StoreMem(asm.RFP, key, asm.R7, asm.Word),
		asm.StoreImm(asm.RFP, tid, 0, asm.Word), // also the key of receives' only element
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, tid),
		asm.LoadMapPtr(asm.R1, receives.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.Word),
		asm.JNE.Imm(asm.R1, 0, "count"),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.RFP, tid, asm.R0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP).WithSymbol("count"), asm.Add.Imm(asm.R2, key),
		asm.LoadMapPtr(asm.R1, counts.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "first"),
		asm.Mov.Imm(asm.R1, 1),
		asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Add.Imm(asm.R0, 8),
		asm.StoreXAdd(asm.R0, asm.R8, asm.DWord),
		asm.Ja.Label("out"),
		asm.Mov.Imm(asm.R1, 1).WithSymbol("first"),
		asm.StoreMem(asm.RFP, first, asm.R1, asm.DWord),
		asm.StoreMem(asm.RFP, first+8, asm.R8, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, first),
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST: keeps what another CPU has just inserted
		asm.LoadMapPtr(asm.R1, counts.FD()),
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
}

// idOffset is the offset of the ID in struct napi_struct, from the running kernel's BTF.
func idOffset() (int16, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, fmt.Errorf("count polls: %w", err)
	}
	var instance *btf.Struct
	if err := kernel.TypeByName("napi_struct", &instance); err != nil {
		return 0, fmt.Errorf("count polls: %w", err)
	}
	for _, member := range instance.Members {
		if member.Name == "napi_id" {
			return int16(member.Offset.Bytes()), nil
		}
	}
	return 0, errors.New("count polls: the kernel's NAPI instances have no id (CONFIG_NET_RX_BUSY_POLL)")
}

// Counts returns all counts so far.
func (p *Polls) Counts() (map[Poll]PollCount, error) {
	counts := map[Poll]PollCount{}
	var key [8]byte
	var value [16]byte
	all := p.counts.Iterate()
	for all.Next(&key, &value) {
		poll := Poll{binary.NativeEndian.Uint32(key[:4]), int(binary.NativeEndian.Uint32(key[4:]))}
		counts[poll] = PollCount{binary.NativeEndian.Uint64(value[:8]), binary.NativeEndian.Uint64(value[8:])}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("count polls: %w", err)
	}
	return counts, nil
}

// Close stops counting.
func (p *Polls) Close() error {
	var errs []error
	for _, attached := range slices.Backward(p.attached) {
		errs = append(errs, attached.Close())
	}
	for _, program := range p.programs {
		errs = append(errs, program.Close())
	}
	for _, counts := range []*ebpf.Map{p.counts, p.receives} {
		if counts != nil {
			errs = append(errs, counts.Close())
		}
	}
	return errors.Join(errs...)
}

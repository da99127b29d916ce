package busypoll

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Polls counts who polls which NAPI instance while it is open, by the kernel's tracepoint
// napi_poll, which each poll passes, whatever made it: a softirq on behalf of the thread
// that it interrupted, or a polling thread. It needs BTF, and CAP_BPF with CAP_PERFMON.
// Each poll costs some tens of nanoseconds more meanwhile.
type Polls struct {
	counts   *ebpf.Map
	program  *ebpf.Program
	attached link.Link
}

// Poll is a thread that polled an instance.
type Poll struct {
	NAPI uint32
	TID  int
}

// PollCount is how often it did, and how many packets it found.
type PollCount struct{ Polls, Packets uint64 }

// pollsMost is how many pairs of an instance and a thread are counted; a softirq's polls
// count for any thread that was running.
const pollsMost = 16384

// CountPolls starts to count.
func CountPolls() (*Polls, error) {
	offset, err := idOffset()
	if err != nil {
		return nil, err
	}
	p := &Polls{}
	p.counts, err = ebpf.NewMap(&ebpf.MapSpec{Name: "polls", Type: ebpf.Hash, KeySize: 8, ValueSize: 16, MaxEntries: pollsMost})
	if err != nil {
		return nil, fmt.Errorf("count polls: %w", err)
	}
	p.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "polls", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "napi_poll",
		License: "GPL", Instructions: pollsProgram(p.counts, offset),
	})
	if err == nil {
		p.attached, err = link.AttachTracing(link.TracingOptions{Program: p.program})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("count polls: %w", err), p.Close())
	}
	return p, nil
}

// pollsProgram is trace_napi_poll(struct napi_struct *napi, int work, int budget) of
// include/trace/events/napi.h: it adds 1 and work to the values of {napi_id, thread}.
func pollsProgram(counts *ebpf.Map, idOffset int16) asm.Instructions {
	const key, first = -8, -24
	return asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // napi
		asm.LoadMem(asm.R8, asm.R1, 8, asm.DWord), // work
		asm.LoadMem(asm.R7, asm.R6, idOffset, asm.Word),
		asm.StoreMem(asm.RFP, key, asm.R7, asm.Word),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.RFP, key+4, asm.R0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
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
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST: what another CPU just began stays
		asm.LoadMapPtr(asm.R1, counts.FD()),
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
}

// idOffset is where struct napi_struct has its id, by the running kernel's BTF.
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

// Counts are all until now.
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
	if p.attached != nil {
		errs = append(errs, p.attached.Close())
	}
	if p.program != nil {
		errs = append(errs, p.program.Close())
	}
	return errors.Join(append(errs, p.counts.Close())...)
}

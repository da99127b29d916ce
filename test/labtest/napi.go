package labtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// Polls counts who polls which NAPI instance, from its start to the end of its test: the
// kernel's tracepoint napi_poll, which every poll passes, be it by a softirq on behalf of
// whoever was interrupted or by a thread of its own.
type Polls struct {
	counts *ebpf.Map
}

// pollsMapSize is how many pairs of an instance and a thread are counted.
const pollsMapSize = 4096

// CountPolls starts counting; without BTF or the right to load programs the test skips.
func CountPolls(t testing.TB) *Polls {
	t.Helper()
	polls, err := countPolls(t)
	Require(t, fmt.Sprintf("BPF programs at tracepoints (%v)", err), err == nil)
	return polls
}

func countPolls(t testing.TB) (*Polls, error) {
	offset, err := napiIDOffset()
	if err != nil {
		return nil, err
	}
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: pollsMapSize})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { counts.Close() })
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "napi_poll", License: "GPL",
		Instructions: asm.Instructions{
			// The key on the stack: the instance's id (trace_napi_poll(napi, work, budget)),
			// and the thread's.
			asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord),
			asm.LoadMem(asm.R7, asm.R6, offset, asm.Word),
			asm.StoreMem(asm.RFP, -8, asm.R7, asm.Word),
			asm.FnGetCurrentPidTgid.Call(),
			asm.StoreMem(asm.RFP, -4, asm.R0, asm.Word),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "first"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Ja.Label("out"),
			asm.StoreImm(asm.RFP, -16, 1, asm.DWord).WithSymbol("first"),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
			asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16),
			asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST: a count that another CPU just began stays
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.FnMapUpdateElem.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
			asm.Return(),
		},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { program.Close() })
	attached, err := link.AttachTracing(link.TracingOptions{Program: program})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { attached.Close() })
	return &Polls{counts}, nil
}

// napiIDOffset is where struct napi_struct has its id, by the running kernel's BTF.
func napiIDOffset() (int16, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, err
	}
	var napi *btf.Struct
	if err := kernel.TypeByName("napi_struct", &napi); err != nil {
		return 0, err
	}
	for _, member := range napi.Members {
		if member.Name == "napi_id" {
			return int16(member.Offset.Bytes()), nil
		}
	}
	return 0, errors.New("struct napi_struct has no napi_id: the kernel has no CONFIG_NET_RX_BUSY_POLL")
}

// By is how often each thread has polled an instance until now.
func (p *Polls) By(t testing.TB, napi int) map[int]uint64 {
	t.Helper()
	by := map[int]uint64{}
	var key [8]byte
	var count uint64
	all := p.counts.Iterate()
	for all.Next(&key, &count) {
		if int(binary.NativeEndian.Uint32(key[:4])) == napi {
			by[int(binary.NativeEndian.Uint32(key[4:]))] += count
		}
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	return by
}

// Since is what was counted after an earlier reading.
func Since(before, now map[int]uint64) map[int]uint64 {
	since := map[int]uint64{}
	for tid, count := range now {
		if count > before[tid] {
			since[tid] = count - before[tid]
		}
	}
	return since
}

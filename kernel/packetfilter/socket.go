package packetfilter

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// all is the value that a program returns for a packet of any length.
const all = 1 << 18

// Attach lets a packet socket have only packets that the filter chooses, and those whose outer VLAN
// tag the kernel has moved out of the packet: the filter compares bytes, so the caller has to ask
// Matches of these once the tag is back. Attach before the socket is bound, or it has others too.
func (f *Filter) Attach(fd int) error {
	// In struct sk_buff: vlan_tci, by an extension of Linux 3.8 (net/core/filter.c).
	tagged, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: all},
	})
	if err != nil {
		return err
	}
	var program []unix.SockFilter
	for _, i := range append(tagged, f.program...) {
		program = append(program, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err != nil {
		return fmt.Errorf("attach a filter of %d instructions to the packet socket: %w", len(program), err)
	}
	return nil
}

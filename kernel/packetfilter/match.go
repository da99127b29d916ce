package packetfilter

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
)

// Matches reports whether the filter chooses a packet of that length on the wire, of which data were
// captured. As in libpcap, it does not choose one that was cut before what the filter compares.
func (f *Filter) Matches(data []byte, length int) bool {
	vm := f.whole
	if length > len(data) {
		vm, data = f.cut, append(binary.BigEndian.AppendUint32(make([]byte, 0, lengthBytes+len(data)), uint32(length)), data...)
	}
	take, err := vm.Run(data)
	return err == nil && take > 0
}

const lengthBytes = 4

// behindLength makes a program for packets that have their length before them. The library's machine
// takes what was captured for the whole packet.
func behindLength(program []bpf.Instruction) []bpf.Instruction {
	moved := make([]bpf.Instruction, len(program))
	for i, in := range program {
		switch in := in.(type) {
		case bpf.LoadAbsolute:
			in.Off += lengthBytes
			moved[i] = in
		case bpf.LoadIndirect:
			in.Off += lengthBytes
			moved[i] = in
		case bpf.LoadMemShift:
			in.Off += lengthBytes
			moved[i] = in
		case bpf.LoadExtension:
			moved[i] = in
			if in.Num == bpf.ExtLen {
				moved[i] = bpf.LoadAbsolute{Size: lengthBytes}
			}
		default:
			moved[i] = in
		}
	}
	return moved
}

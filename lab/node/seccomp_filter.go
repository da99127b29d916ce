package node

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// A filter looks for a system call's number by halving:
//
//	architecture ─▸ number ─▸ a range of numbers ─▸ allowed
//	                                             ─▸ refused, with an error
//	                                             ─▸ by an argument
//
// Every part of it ends with an answer, so that parts stand one after the other, and jumps only skip whole parts.

// filterArches are the architectures of a machine's programs; those of the x32 ABI are refused, as a number
// that nobody knows.
var filterArches = map[string][]*arch.Info{
	"amd64": {arch.X86_64, arch.I386},
	"arm64": {arch.AARCH64, arch.ARM},
}

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

type instruction = unix.SockFilter

func load(offset uint32) instruction {
	return instruction{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func answer(value uint32) instruction {
	return instruction{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

func refuse(errno uint) instruction {
	return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

// branch is: if the accumulator compares with k, no, else yes. Jumps of a comparison reach 255 instructions.
func branch(comparison uint16, k uint32, yes, no []instruction) []instruction {
	jump := []instruction{{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jt: uint8(len(no))}}
	if len(no) > 255 {
		jump = []instruction{
			{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: k, Jf: 1},
			{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(no))},
		}
	}
	return slices.Concat(jump, no, yes)
}

// numbers are system calls with successive numbers up to and without the next one's first, and the answer to them.
type numbers struct {
	first uint32
	then  []instruction
}

// filterProgram is a profile as a program for seccomp(2): for this machine's programs, and those of 32 bits that it
// also runs. It is pure.
func filterProgram(profile *specs.LinuxSeccomp) ([]byte, error) {
	program := []instruction{refuse(errnoOf(profile.DefaultErrnoRet))}
	for _, a := range slices.Backward(filterArches[runtime.GOARCH]) {
		ranges, err := rangesOf(profile, a)
		if err != nil {
			return nil, err
		}
		calls := append([]instruction{load(offsetNumber)}, search(ranges)...)
		program = branch(unix.BPF_JEQ, uint32(a.ID), calls, program)
	}
	program = append([]instruction{load(offsetArch)}, program...)
	if len(program) > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("the list of system calls needs %d instructions, and the kernel takes %d", len(program), unix.BPF_MAXINSNS)
	}
	var b bytes.Buffer
	err := binary.Write(&b, binary.NativeEndian, program)
	return b.Bytes(), err
}

// search finds a range by halving.
func search(ranges []numbers) []instruction {
	if len(ranges) == 1 {
		return ranges[0].then
	}
	middle := len(ranges) / 2
	return branch(unix.BPF_JGE, ranges[middle].first, search(ranges[middle:]), search(ranges[:middle]))
}

// rangesOf are all numbers of an architecture in order.
func rangesOf(profile *specs.LinuxSeccomp, a *arch.Info) ([]numbers, error) {
	answers, err := answersOf(profile, a)
	if err != nil {
		return nil, err
	}
	last := 0
	for number := range a.SyscallNumbers {
		last = max(last, number)
	}
	otherwise := []instruction{refuse(errnoOf(profile.DefaultErrnoRet))}
	var ranges []numbers
	for number := 0; number <= last; number++ {
		then := answers[a.SyscallNumbers[number]]
		if then == nil {
			then = otherwise
		}
		if len(ranges) == 0 || !slices.Equal(ranges[len(ranges)-1].then, then) {
			ranges = append(ranges, numbers{uint32(number), then})
		}
	}
	// What is newer than the profile must look as with an older kernel, as runc and crun do it: programs then try
	// what there was before.
	return append(ranges, numbers{uint32(last + 1), []instruction{refuse(uint(unix.ENOSYS))}}), nil
}

// answersOf are the answers to the system calls that a profile names.
func answersOf(profile *specs.LinuxSeccomp, a *arch.Info) (map[string][]instruction, error) {
	answers, compared := map[string][]instruction{}, map[string][]specs.LinuxSeccompArg{}
	for _, rule := range profile.Syscalls {
		then := answer(unix.SECCOMP_RET_ALLOW)
		switch {
		case rule.Action == specs.ActErrno && len(rule.Args) == 0:
			then = refuse(errnoOf(rule.ErrnoRet))
		case rule.Action != specs.ActAllow || len(rule.Args) > 1:
			return nil, fmt.Errorf("unknown form of a rule for the system calls %v", rule.Names)
		}
		for _, name := range rule.Names {
			if _, has := a.SyscallNames[name]; !has {
				continue
			}
			if len(rule.Args) == 1 {
				compared[name] = append(compared[name], rule.Args[0])
			} else {
				answers[name] = []instruction{then}
			}
		}
	}
	for name, arguments := range compared {
		if answers[name] != nil {
			continue // allowed whatever the arguments are
		}
		then := []instruction{refuse(errnoOf(profile.DefaultErrnoRet))}
		for _, argument := range slices.Backward(arguments) {
			compare, err := comparison(argument, then)
			if err != nil {
				return nil, fmt.Errorf("system call %s: %w", name, err)
			}
			then = compare
		}
		answers[name] = then
	}
	return answers, nil
}

// comparison allows a system call by one of its arguments, and else leads on. The kernel takes what is compared
// as 32 bits (a socket's domain, a personality), or as a mask of flags in the lower 32.
func comparison(argument specs.LinuxSeccompArg, otherwise []instruction) ([]instruction, error) {
	if argument.Value>>32 != 0 || argument.ValueTwo>>32 != 0 {
		return nil, fmt.Errorf("compared with a number of 64 bits, %d", argument.Value)
	}
	value, allow := uint32(argument.Value), []instruction{answer(unix.SECCOMP_RET_ALLOW)}
	lower := load(offsetArguments + 8*uint32(argument.Index)) // on a little-endian machine
	switch argument.Op {
	case specs.OpEqualTo:
		return slices.Concat([]instruction{lower}, branch(unix.BPF_JEQ, value, allow, otherwise)), nil
	case specs.OpLessThan:
		return slices.Concat([]instruction{lower}, branch(unix.BPF_JGE, value, otherwise, allow)), nil
	case specs.OpMaskedEqual:
		and := instruction{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: value}
		return slices.Concat([]instruction{lower, and}, branch(unix.BPF_JEQ, uint32(argument.ValueTwo), allow, otherwise)), nil
	}
	return nil, fmt.Errorf("unknown comparison %s", argument.Op)
}

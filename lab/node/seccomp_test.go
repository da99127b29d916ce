package node

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// rightsInSets are nodes with each set of rights that a profile depends on.
var rightsInSets = map[string]plan.Node{
	"nothing":  {Runtime: spec.RuntimeLXC},
	"bpf":      {Runtime: spec.RuntimeLXC, Allow: []spec.Allowance{spec.AllowBPF}},
	"perf":     {Runtime: spec.RuntimeLXC, Allow: []spec.Allowance{spec.AllowPerf}},
	"io_uring": {Runtime: spec.RuntimeOCI, Allow: []spec.Allowance{spec.AllowIOUring}},
	"dpdk":     {Runtime: spec.RuntimeOCI, Allow: []spec.Allowance{spec.AllowDPDK}},
	"systemd":  {Runtime: spec.RuntimeLXC, Rootfs: &spec.Rootfs{Kind: spec.RootfsDebian, Init: spec.InitSystemd}},
}

// evaluator runs a filter. The machine of package bpf reads packets, in network byte order.
func evaluator(t *testing.T, profile *specs.LinuxSeccomp) func(archID, number uint32, arguments ...uint64) uint32 {
	t.Helper()
	text, err := filterProgram(profile)
	if err != nil {
		t.Fatal(err)
	}
	code := make([]unix.SockFilter, len(text)/8)
	if err := binary.Read(bytes.NewReader(text), binary.NativeEndian, code); err != nil {
		t.Fatal(err)
	}
	var program []bpf.Instruction
	for _, c := range code {
		program = append(program, bpf.RawInstruction{Op: c.Code, Jt: c.Jt, Jf: c.Jf, K: c.K}.Disassemble())
	}
	machine, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return func(archID, number uint32, arguments ...uint64) uint32 {
		words := []uint32{number, archID, 0, 0}
		for i := range 6 {
			argument := uint64(0)
			if i < len(arguments) {
				argument = arguments[i]
			}
			words = append(words, uint32(argument), uint32(argument>>32))
		}
		var call bytes.Buffer
		if err := binary.Write(&call, binary.BigEndian, words); err != nil {
			t.Fatal(err)
		}
		answer, err := machine.Run(call.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return uint32(answer)
	}
}

// profileOf is the profile of a node on a kernel that can refuse system calls.
func profileOf(t *testing.T, n plan.Node) *specs.LinuxSeccomp {
	t.Helper()
	labtest.Require(t, "seccomp", refuses())
	profile, err := WallsOf(n).profile()
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// TestTheFilterAnswersAsTheProfile compares them for every system call of each architecture.
func TestTheFilterAnswersAsTheProfile(t *testing.T) {
	for name, n := range rightsInSets {
		profile := profileOf(t, n)
		answer := evaluator(t, profile)
		for _, a := range filterArches[runtime.GOARCH] {
			for call, number := range a.SyscallNames {
				want, conditional := uint32(unix.SECCOMP_RET_ERRNO|unix.EPERM), false
				for _, rule := range profile.Syscalls {
					for _, ruled := range rule.Names {
						switch {
						case ruled != call:
						case len(rule.Args) > 0:
							conditional = true
						case rule.Action == specs.ActErrno:
							want = unix.SECCOMP_RET_ERRNO | uint32(*rule.ErrnoRet)
						default:
							want, conditional = unix.SECCOMP_RET_ALLOW, false
						}
					}
				}
				if got := answer(uint32(a.ID), uint32(number)); got != want && !conditional {
					t.Errorf("%s, %s: %s is answered %#x, want %#x", name, a.Name, call, got, want)
				}
			}
		}
	}
}

func TestTheFilterComparesArguments(t *testing.T) {
	labtest.Require(t, "amd64", runtime.GOARCH == "amd64") // the numbers below are its
	const allow, eperm, enosys = uint32(unix.SECCOMP_RET_ALLOW), unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	ordinary, systemd := evaluator(t, profileOf(t, rightsInSets["nothing"])), evaluator(t, profileOf(t, rightsInSets["systemd"]))
	x86 := uint32(arch.X86_64.ID)
	for _, c := range []struct {
		what                string
		archID, number      uint32
		argument            uint64
		ordinary, inSystemd uint32
	}{
		{"a thread", x86, unix.SYS_CLONE, unix.CLONE_VM | unix.CLONE_THREAD, allow, allow},
		{"a user namespace", x86, unix.SYS_CLONE, unix.CLONE_NEWUSER, eperm, allow},
		{"clone3, whose arguments are in memory", x86, unix.SYS_CLONE3, 0, enosys, allow},
		{"what personality there is", x86, unix.SYS_PERSONALITY, 0xffffffff, allow, allow},
		{"another personality", x86, unix.SYS_PERSONALITY, 0x0040000, eperm, eperm},
		{"an Internet socket", x86, unix.SYS_SOCKET, unix.AF_INET, allow, allow},
		{"a packet socket", x86, unix.SYS_SOCKET, unix.AF_PACKET, allow, allow},
		{"an XDP socket", x86, unix.SYS_SOCKET, unix.AF_XDP, allow, allow},
		{"a socket to the hypervisor", x86, unix.SYS_SOCKET, unix.AF_VSOCK, eperm, eperm},
		{"a call that is newer than the profile", x86, 5000, 0, enosys, enosys},
		{"one of the x32 ABI", x86, 0x40000000 | unix.SYS_READ, 0, enosys, enosys},
		{"one of a program of 32 bits", uint32(arch.I386.ID), uint32(arch.I386.SyscallNames["read"]), 0, allow, allow},
		{"a refused one of a program of 32 bits", uint32(arch.I386.ID), uint32(arch.I386.SyscallNames["keyctl"]), 0, eperm, eperm},
		{"one of another architecture", uint32(arch.AARCH64.ID), 63, 0, eperm, eperm},
	} {
		if a, b := ordinary(c.archID, c.number, c.argument), systemd(c.archID, c.number, c.argument); a != c.ordinary || b != c.inSystemd {
			t.Errorf("%s: %#x, and with systemd %#x, want %#x and %#x", c.what, a, b, c.ordinary, c.inSystemd)
		}
	}
}

func TestTheProfileInLXCsFormat(t *testing.T) {
	text, err := lxcProfile(profileOf(t, rightsInSets["nothing"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2\nallowlist errno 1\n[all]\n", "\nread allow\n", "\nclone3 errno 38\n", "\npersonality allow [0,8,SCMP_CMP_EQ]\n",
		"\nclone allow [0,0,SCMP_CMP_MASKED_EQ,2114060288]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
}

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/moby/profiles/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/plan"
)

// The system calls that programs of a container may make are those of Docker's default profile, which depends on
// their capabilities. Three forms of it are made:
//
//	profile ─▸ as it is, for an OCI driver
//	        ─▸ lxcProfile, for LXC
//	        ─▸ filterProgram, for commands that enter the container: a filter is inherited and never
//	           joined, seccomp(2)

// filters is there where the kernel has seccomp's filters, seccomp(2).
const filters = "/proc/sys/kernel/seccomp/actions_avail"

// refuses is true if the kernel can refuse system calls.
func refuses() bool {
	_, err := os.Stat(filters)
	return err == nil
}

// ioURing are the system calls of io_uring(7).
var ioURing = []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}

// profile is which system calls a node's programs may make; nil for all.
func (w Walls) profile() (*specs.LinuxSeccomp, error) {
	if w.Privileged || !w.Files || !refuses() {
		return nil, nil
	}
	var names []string
	for _, name := range w.Capabilities {
		names = append(names, "CAP_"+strings.ToUpper(name))
	}
	profile, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{Bounding: names}}})
	if err != nil {
		return nil, fmt.Errorf("make the list of system calls: %w", err)
	}
	profile.Architectures = ociArchitectures[runtime.GOARCH]
	if w.IOUring {
		profile.Syscalls = append(profile.Syscalls, specs.LinuxSyscall{Names: ioURing, Action: specs.ActAllow})
	}
	return profile, nil
}

// ociArchitectures are this machine's, with those of the programs of 32 bits that it also runs.
var ociArchitectures = map[string][]specs.Arch{
	"amd64": {specs.ArchX86_64, specs.ArchX86, specs.ArchX32},
	"arm64": {specs.ArchAARCH64, specs.ArchARM},
}

// lxcOperators are LXC's names of comparisons, lxc.container.conf(5).
var lxcOperators = map[specs.LinuxSeccompOperator]string{
	specs.OpEqualTo: "SCMP_CMP_EQ", specs.OpNotEqual: "SCMP_CMP_NE", specs.OpLessThan: "SCMP_CMP_LT", specs.OpLessEqual: "SCMP_CMP_LE",
	specs.OpGreaterThan: "SCMP_CMP_GT", specs.OpGreaterEqual: "SCMP_CMP_GE", specs.OpMaskedEqual: "SCMP_CMP_MASKED_EQ",
}

// lxcProfile is a profile in LXC's format. It is pure.
func lxcProfile(profile *specs.LinuxSeccomp) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "2\nallowlist errno %d\n[all]\n", errnoOf(profile.DefaultErrnoRet))
	for _, rule := range profile.Syscalls {
		action := "allow"
		switch rule.Action {
		case specs.ActAllow:
		case specs.ActErrno:
			action = fmt.Sprintf("errno %d", errnoOf(rule.ErrnoRet))
		default:
			return "", fmt.Errorf("unknown action %s for the system calls %v", rule.Action, rule.Names)
		}
		for _, arg := range rule.Args {
			// LXC writes a mask after what it is compared with, and the OCI before.
			if arg.Op == specs.OpMaskedEqual {
				action += fmt.Sprintf(" [%d,%d,%s,%d]", arg.Index, arg.ValueTwo, lxcOperators[arg.Op], arg.Value)
			} else {
				action += fmt.Sprintf(" [%d,%d,%s]", arg.Index, arg.Value, lxcOperators[arg.Op])
			}
		}
		for _, name := range rule.Names {
			fmt.Fprintf(&b, "%s %s\n", name, action)
		}
	}
	return b.String(), nil
}

func errnoOf(number *uint) uint {
	if number == nil {
		return uint(unix.EPERM)
	}
	return *number
}

// writeProfile writes the system calls of a container in LXC's format, below dir. It returns the file's path,
// empty where none is refused.
func writeProfile(w Walls, dir string) (string, error) {
	profile, err := w.profile()
	if profile == nil || err != nil {
		return "", err
	}
	text, err := lxcProfile(profile)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "seccomp")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// filtersFolder has the filters of nodes, in the lab's state folder.
const filtersFolder = "filters"

// filterFile writes the filter for commands that enter a node, unless it is there. It returns the file's path,
// empty where no system call is refused.
func (p Place) filterFile(n plan.Node, w Walls) (string, error) {
	profile, err := w.profile()
	if profile == nil || err != nil {
		return "", err
	}
	program, err := filterProgram(profile)
	if err != nil {
		return "", err
	}
	path := filepath.Join(p.StateDir, filtersFolder, n.Name)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(program) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, replace.File(path, program, 0o600)
}

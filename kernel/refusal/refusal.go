// Package refusal says why the kernel can have refused an operation with EPERM: by the flags of the files, by what the
// process lacks, or by what else forbids things on this host. It changes nothing and needs no privileges.
package refusal

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Why says why the operation of an error can have been refused; empty if it failed for another reason.
func Why(err error) string {
	if !errors.Is(err, unix.EPERM) {
		return ""
	}
	for _, path := range paths(err) {
		if reason := flagged(path, attributes(path)); reason != "" {
			return reason
		}
		if parent := filepath.Dir(path); parent != path {
			if reason := flagged(parent, attributes(parent)); reason != "" {
				return reason
			}
		}
	}
	return held(os.Geteuid() == 0, effective(), last(), lockdown())
}

// paths are those that an error names, also where it joins several.
func paths(err error) (list []string) {
	switch e := any(err).(type) { // the error itself, as all that it wraps is looked at
	case nil:
		return nil
	case *fs.PathError:
		return []string{e.Path}
	case *os.LinkError:
		return []string{e.Old, e.New}
	case interface{ Unwrap() error }:
		return paths(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			list = append(list, paths(one)...)
		}
	}
	return list
}

// attributes are a file's flags, STATX_ATTR in statx(2); 0 if nobody can tell.
func attributes(path string) uint64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &st) != nil {
		return 0
	}
	return st.Attributes
}

// flagged says what a file's flags forbid to everyone, FS_IMMUTABLE_FL and FS_APPEND_FL in ioctl_iflags(2).
func flagged(path string, attributes uint64) string {
	switch {
	case attributes&unix.STATX_ATTR_IMMUTABLE != 0:
		return fmt.Sprintf("%s is immutable, for root too; 'chattr -i %[1]s' lets it be changed", path)
	case attributes&unix.STATX_ATTR_APPEND != 0:
		return fmt.Sprintf("%s can only be appended to, by root too; 'chattr -a %[1]s' lets it be changed", path)
	}
	return ""
}

// capabilities are those that operations of nines are refused without, capabilities(7).
var capabilities = map[int]string{
	unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE", unix.CAP_FOWNER: "CAP_FOWNER", unix.CAP_KILL: "CAP_KILL",
	unix.CAP_NET_ADMIN: "CAP_NET_ADMIN", unix.CAP_NET_RAW: "CAP_NET_RAW", unix.CAP_SYS_ADMIN: "CAP_SYS_ADMIN",
	unix.CAP_SYS_MODULE: "CAP_SYS_MODULE", unix.CAP_SYS_NICE: "CAP_SYS_NICE", unix.CAP_SYS_PTRACE: "CAP_SYS_PTRACE",
	unix.CAP_BPF: "CAP_BPF", unix.CAP_PERFMON: "CAP_PERFMON", unix.CAP_SETPCAP: "CAP_SETPCAP",
}

// Lacking names those of some capabilities that this process is without.
func Lacking(wanted ...int) (lacks []string) {
	has := effective()
	for _, number := range wanted {
		if has&(1<<number) == 0 {
			lacks = append(lacks, capabilities[number])
		}
	}
	return lacks
}

// held says what holds a process back that has these capabilities, of which the kernel knows those up to last. It is pure.
func held(root bool, effective uint64, last int, lockdown string) string {
	if !root {
		return "only root may do that; run it with sudo"
	}
	var lacks []string
	for number, name := range capabilities {
		if number <= last && effective&(1<<number) == 0 {
			lacks = append(lacks, name)
		}
	}
	slices.Sort(lacks)
	switch {
	case len(lacks) > 0:
		return "root here is without " + strings.Join(lacks, ", ") + ", as in a container; give it what it needs, or run nines outside"
	case lockdown != "":
		return "the kernel is locked down (" + lockdown + "), which forbids some things to root, too: kernel_lockdown(7)"
	}
	return "a security module, a seccomp filter or the file system can forbid it to root, too; the kernel's log (dmesg) may say which"
}

// effective are our capabilities, CapEff in proc(5); all of them if nobody can tell.
func effective() uint64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(text), "\nCapEff:")
	mask, _, _ := strings.Cut(after, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	if err != nil {
		return math.MaxUint64
	}
	return set
}

// last is the last capability that the kernel knows.
func last() int {
	text, _ := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	number, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return number
}

// lockdown is the kernel's, as the file marks it: "none [integrity] confidentiality"; empty if it has none.
func lockdown() string {
	text, _ := os.ReadFile("/sys/kernel/security/lockdown")
	_, after, _ := strings.Cut(string(text), "[")
	mode, _, _ := strings.Cut(after, "]")
	if mode == "none" {
		return ""
	}
	return mode
}

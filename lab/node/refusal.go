package node

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// refusals are what programs print of what the kernel refuses them, and the key that allows it. The first that fits
// is told.
var refusals = []struct {
	words []string
	key   spec.Allowance
}{
	{[]string{"io_uring", "uring"}, spec.AllowIOUring},
	{[]string{"perf_event", "perfmon", "perf:", "kprobe", "uprobe", "tracepoint"}, spec.AllowPerf},
	{[]string{"bpf", "xdp", "btf"}, spec.AllowBPF},
	{[]string{"eal:", "rte_", "mlock", "hugepage", "memory policy", "mbind", "sched_setscheduler", "scheduling policy", "chrt:", "setpriority", "nice:", "pid 0's policy"}, spec.AllowDPDK},
}

// refused are the kernel's words for EPERM, by the C library and by programs that print the number's name.
var refused = []string{"operation not permitted", "eperm"}

// Refusal says which key lets a node's programs do what they were refused, by what a program has printed; empty if
// the walls of the node did not refuse it. It is pure.
func Refusal(n plan.Node, printed string) string {
	if why := deviceRefusal(n, printed); why != "" {
		return why
	}
	printed = strings.ToLower(printed)
	w := WallsOf(n)
	if d := n.Runtime.Descriptor(); !d.Takes("allow") || w.Privileged || !containsAny(printed, refused) {
		return ""
	}
	for _, r := range refusals {
		if containsAny(printed, r.words) && !slices.Contains(n.Allow, r.key) {
			return fmt.Sprintf("the node's programs lack a right that the key allow gives: write allow: [%s] in node %s, if you trust them with it", r.key, n.Name)
		}
	}
	return fmt.Sprintf("if the node's walls have refused it (docs/labs.md, Confinement), one of bpf, perf, io_uring and dpdk in the key allow of node %s may give the right, and privileged: true gives all", n.Name)
}

// deviceFile finds device nodes in what a program prints.
var deviceFile = regexp.MustCompile(`/dev(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+`)

// absent are the kernel's words for ENOENT, as refused are those for EPERM.
var absent = []string{"no such file or directory", "enoent"}

// deviceRefusal says which device the node may not open, by what a program has printed.
func deviceRefusal(n plan.Node, printed string) string {
	d := n.Runtime.Descriptor()
	words := refused
	if d.OwnRoot {
		words = slices.Concat(refused, absent)
	}
	if !d.Takes("devices") || !containsAny(strings.ToLower(printed), words) {
		return ""
	}
	for _, file := range deviceFile.FindAllString(printed, -1) {
		if !slices.Contains(n.Devices, file) && file != "/dev/null" {
			return fmt.Sprintf("the node may not open %s: write devices: [%s] in node %s", file, file, n.Name)
		}
	}
	return ""
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// WithRefusal adds to an error what Refusal says of a program's output.
func WithRefusal(err error, n plan.Node, printed string) error {
	if why := Refusal(n, printed); err != nil && why != "" {
		return fmt.Errorf("%w; %s", err, why)
	}
	return err
}

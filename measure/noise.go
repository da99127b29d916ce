package measure

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/measure/steal"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// noise is the disturbances that the kernel counted up to one moment.
type noise struct {
	// steal is the time, per CPU, for which the hypervisor ran something else.
	steal map[int]time.Duration
	// throttled is how long a CPU quota held the engines' cgroups back.
	throttled time.Duration
}

// noiseReader reads the kernel's counters for some CPUs and processes.
type noiseReader struct {
	root string // "/", or a recorded one
	cpus []int
	pids []int
}

// noiseOf looks at the CPUs and processes where a disturbance affects a trial: those of the generator,
// the sink, and the engines and switches between them.
func (b *bench) noiseOf(p *plan.Plan) probe {
	near := noiseReader{root: "/", cpus: []int{p.Traffic.FromCPU, p.Traffic.ToCPU}, pids: b.generator.Processes()}
	if p.Isolation == spec.IsolationNone {
		near.cpus = slices.Clone(p.HousekeepingCPUs) // the engines may run on any of them
	}
	for _, node := range p.Nodes {
		if node.App != nil && node.App.CPU >= 0 {
			near.cpus = append(near.cpus, node.App.CPU)
			near.pids = append(near.pids, b.lab.PID(node.Name))
		}
	}
	for _, link := range p.Links {
		if link.Switch != nil {
			near.cpus = append(near.cpus, link.Switch.CPUs...)
		}
	}
	return &difference[noise]{
		read: func(context.Context) (noise, error) { return near.read() },
		tell: func(o *observation, before, after noise) { o.steal, o.throttled = after.since(before) },
	}
}

func (p noiseReader) read() (noise, error) {
	stolen, err := steal.Read(p.root)
	if err != nil {
		return noise{}, err
	}
	n := noise{steal: make(map[int]time.Duration)}
	for _, cpu := range p.cpus {
		n.steal[cpu] = stolen[cpu]
	}
	for _, dir := range p.cgroups() {
		// A missing file means that nothing can be throttled there.
		if stat, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			n.throttled += parseThrottled(string(stat))
		}
	}
	return n, nil
}

// cgroups returns the control groups of the processes and all their parents, without repetition: a
// quota at any level holds a process back.
func (p noiseReader) cgroups() []string {
	var dirs []string
	for _, pid := range p.pids {
		data, err := os.ReadFile(filepath.Join(p.root, "proc", strconv.Itoa(pid), "cgroup"))
		if err != nil {
			continue // the process has ended
		}
		for line := range strings.Lines(string(data)) {
			dirs = append(dirs, p.upwards(strings.TrimSpace(line))...)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// upwards lists the folders of a line of /proc/PID/cgroup, which is
// hierarchy:controllers:path (cgroups(7)); version 2 names no controllers.
func (p noiseReader) upwards(line string) []string {
	parts := strings.SplitN(line, ":", 3)
	if len(parts) != 3 {
		return nil
	}
	mount := filepath.Join(p.root, "sys/fs/cgroup")
	switch {
	case hasController(parts[1], "cpu"):
		mount = filepath.Join(mount, "cpu")
	case parts[1] != "":
		return nil
	}
	var dirs []string
	for dir := parts[2]; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(mount, dir))
		if dir == "/" || dir == "." {
			return dirs
		}
	}
}

func hasController(list, name string) bool {
	for controller := range strings.SplitSeq(list, ",") {
		if controller == name {
			return true
		}
	}
	return false
}

// parseThrottled reads throttled_usec (cgroup v2) or throttled_time in ns (v1).
func parseThrottled(stat string) time.Duration {
	for line := range strings.Lines(stat) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		amount, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "throttled_usec":
			return time.Duration(amount) * time.Microsecond
		case "throttled_time":
			return time.Duration(amount)
		}
	}
	return 0
}

// since is the difference between an earlier reading and this one.
func (n noise) since(before noise) (steal, throttled time.Duration) {
	for cpu, now := range n.steal {
		steal += now - before.steal[cpu]
	}
	return steal, n.throttled - before.throttled
}

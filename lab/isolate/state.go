package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// State is the isolation that was in force when a lab came up.
type State struct {
	Degree spec.Isolation `json:"degree"`
	// CPUs are those that only nodes use; HostCPUs are those for everything else.
	CPUs     []int `json:"cpus,omitempty"`
	HostCPUs []int `json:"host_cpus,omitempty"`
	// Mechanism says how the kernel keeps others off.
	Mechanism string  `json:"mechanism,omitempty"`
	Groups    []Group `json:"groups,omitempty"`
	// Interrupts, KernelThreads and Tasks are how many were moved away; Settings is how many other
	// settings were changed.
	Interrupts    int `json:"interrupts,omitempty"`
	KernelThreads int `json:"kernel_threads,omitempty"`
	Tasks         int `json:"tasks,omitempty"`
	Settings      int `json:"settings,omitempty"`
	// Notes say what could not be moved away, and why.
	Notes []string `json:"notes,omitempty"`

	refused []tune.Result
}

// Group is a control group that has CPUs for itself.
type Group struct {
	Path string `json:"path"`
	// Partition is the kernel's state of it: "isolated", "root", "isolated invalid (…)"; with
	// cgroup v1 "exclusive", with or without "no load balancing".
	Partition string `json:"partition"`
	// CPUs are those that its tasks may use, as the kernel reports them.
	CPUs string `json:"cpus"`
}

// State is what Prepare and Settle have done, with the groups as they are now.
func (l *Lab) State() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := Look(l.Plan)
	if err != nil {
		return s, err
	}
	s.Interrupts, s.KernelThreads, s.Tasks, s.Settings = l.state.Interrupts, l.state.KernelThreads, l.state.Tasks, l.state.Settings
	s.Notes = append(slices.Clone(l.state.Notes), refusals(l.state.refused)...)
	if balancer := irqbalance(); balancer != "" && l.Plan.Isolation == spec.IsolationIsolated {
		s.Notes = append(s.Notes, balancer)
	}
	return s, nil
}

// After adds the counts and notes of an earlier State, for a lab that got more nodes or links
// since.
func (s State) After(before State) State {
	s.Interrupts += before.Interrupts
	s.KernelThreads += before.KernelThreads
	s.Tasks += before.Tasks
	s.Settings += before.Settings
	s.Notes = slices.Concat(before.Notes, s.Notes)
	var notes []string
	for _, note := range s.Notes {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	s.Notes = notes
	return s
}

// Look reads the groups of a plan as they are now.
func Look(p *plan.Plan) (State, error) {
	s := State{Degree: p.Isolation, CPUs: p.IsolatedCPUs}
	if len(p.IsolatedCPUs) == 0 {
		return s, nil
	}
	h, err := Find(CPUSet)
	if err != nil {
		return s, err
	}
	lab := filepath.Join(h.Mount, p.Prefix)
	dirs := []string{lab}
	switch {
	case h.Version == 1:
		s.Mechanism = "cgroup v1: exclusive cpusets, and a housekeeping set with all tasks of the host"
	case remote(lab):
		s.Mechanism = "cgroup v2: a remote partition for each node"
		dirs = nil
		for _, n := range p.Nodes {
			if n.Isolated {
				dirs = append(dirs, filepath.Join(lab, n.HostName))
			}
		}
	default:
		s.Mechanism = "cgroup v2: a partition of the lab's below the root"
	}
	for _, dir := range dirs {
		g, err := lookGroup(h, dir)
		if err != nil {
			return s, err
		}
		s.Groups = append(s.Groups, g)
	}
	root := filepath.Join(h.Mount, map[int]string{1: shared(p.Prefix) + "/cpuset.effective_cpus", 2: effectiveFile}[h.Version])
	if text, err := readFile(root); err == nil {
		if cpus, err := tasks.ParseSet(text); err == nil {
			s.HostCPUs = cpus
		}
	}
	return s, nil
}

func lookGroup(h cgroup.Hierarchy, dir string) (Group, error) {
	var failures []error
	read := func(file string) string {
		text, err := readFile(filepath.Join(dir, file))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENODEV) { // a group that is gone, or goes
			failures = append(failures, err)
		}
		return text
	}
	g := Group{Path: dir}
	if h.Version == 2 {
		g.Partition, g.CPUs = read(partitionFile), read(effectiveFile)
	} else {
		g.CPUs = read("cpuset.effective_cpus")
		if read("cpuset.cpu_exclusive") == "1" {
			g.Partition = "exclusive"
		}
		if read(balanceFile) == "0" {
			g.Partition += ", no load balancing"
		}
	}
	if g.Partition == "" {
		g.Partition = "gone"
	}
	return g, errors.Join(failures...)
}

// take counts settings that succeeded and notes those that were refused.
func (s *State) take(results []tune.Result) {
	for _, r := range results {
		switch {
		case r.Outcome == tune.Refused:
			s.refused = append(s.refused, r)
		case r.Outcome != tune.Changed:
		case r.Name == adviceIRQ.Name, r.Name == adviceQueue.Name:
			s.Interrupts++
		default:
			s.Settings++
		}
	}
}

// refusals says which settings the kernel refused, grouped by kind and reason.
func refusals(list []tune.Result) []string {
	type key struct{ name, reason string }
	var keys []key
	devices := map[key][]string{}
	for _, r := range list {
		k := key{r.Name, r.Reason[strings.LastIndex(r.Reason, ":")+1:]}
		if devices[k] == nil {
			keys = append(keys, k)
		}
		devices[k] = append(devices[k], r.Device)
	}
	var notes []string
	for _, k := range keys {
		notes = append(notes, fmt.Sprintf("%s: the kernel refuses (%s) %s", k.name, strings.TrimSpace(k.reason), some(devices[k])))
	}
	return notes
}

func (s *State) moved(m tasks.Moved) {
	s.Tasks += m.Tasks
	if len(m.Stayed) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d tasks stay in the root's cpuset, because the kernel does not allow moving them: %s", len(m.Stayed), some(kinds(m.Stayed))))
	}
}

func (s *State) cleared(c tasks.Cleared) {
	s.KernelThreads += c.Moved
	if len(c.Fixed) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d kernel threads are bound to the isolated CPUs and stay: %s", len(c.Fixed), some(kinds(c.Fixed))))
	}
}

// ending matches the part of kernel threads' names that differs by CPU and number: "/1", "/1:0-mm".
var ending = regexp.MustCompile(`[/:].*$`)

// kinds are the names of kernel threads without their endings, each once.
func kinds(names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, ending.ReplaceAllString(name, ""))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func some(words []string) string {
	const most = 12
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// irqbalance warns of the daemon that would move interrupts back.
func irqbalance() string {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return ""
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == "irqbalance" {
			return "irqbalance runs, and moves interrupts back: stop it (systemctl stop irqbalance), or give it IRQBALANCE_BANNED_CPULIST"
		}
	}
	return ""
}

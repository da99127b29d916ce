package napi

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Placement is a kernel thread's CPUs and scheduling policy, as text in the form
// "fifo:50@2,3".
type Placement struct {
	Policy   uint32
	Nice     int32
	Priority uint32
	CPUs     []int
}

var policyNames = map[uint32]string{
	unix.SCHED_NORMAL: "other", unix.SCHED_BATCH: "batch", unix.SCHED_IDLE: "idle",
	unix.SCHED_FIFO: "fifo", unix.SCHED_RR: "rr",
}

// String is the text that ParsePlacement reads.
func (p Placement) String() string {
	value := int64(p.Nice)
	if p.RealTime() {
		value = int64(p.Priority)
	}
	cpus := make([]string, len(p.CPUs))
	for i, cpu := range p.CPUs {
		cpus[i] = strconv.Itoa(cpu)
	}
	return fmt.Sprintf("%s:%d@%s", policyNames[p.Policy], value, strings.Join(cpus, ","))
}

// RealTime is true for the policies whose threads preempt all ordinary ones.
func (p Placement) RealTime() bool { return p.Policy == unix.SCHED_FIFO || p.Policy == unix.SCHED_RR }

// ParsePlacement reads "fifo:50@2,3". Without the part from @ on, CPUs is empty.
func ParsePlacement(text string) (Placement, error) {
	wrong := fmt.Errorf("%q is not a policy such as other:0@1,2 or fifo:50@3", text)
	scheduling, cpus, _ := strings.Cut(text, "@")
	name, value, found := strings.Cut(scheduling, ":")
	number, err := strconv.Atoi(value)
	if !found || err != nil {
		return Placement{}, wrong
	}
	p := Placement{Policy: ^uint32(0)}
	for policy, known := range policyNames {
		if known == name {
			p.Policy = policy
		}
	}
	switch {
	case p.Policy == ^uint32(0):
		return Placement{}, wrong
	case p.RealTime() && (number < 1 || number > 99), !p.RealTime() && (number < -20 || number > 19):
		return Placement{}, wrong
	case p.RealTime():
		p.Priority = uint32(number)
	default:
		p.Nice = int32(number)
	}
	for _, cpu := range strings.FieldsFunc(cpus, func(r rune) bool { return r == ',' }) {
		id, err := strconv.Atoi(cpu)
		if err != nil || id < 0 {
			return Placement{}, wrong
		}
		p.CPUs = append(p.CPUs, id)
	}
	return p, nil
}

// PlacementOf reads a thread's placement.
func PlacementOf(tid int) (Placement, error) {
	attributes, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return Placement{}, fmt.Errorf("policy of thread %d: %w", tid, err)
	}
	p := Placement{Policy: attributes.Policy, Nice: attributes.Nice, Priority: attributes.Priority}
	if p.RealTime() {
		p.Nice = 0
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		return Placement{}, fmt.Errorf("CPUs of thread %d: %w", tid, err)
	}
	for cpu := 0; len(p.CPUs) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			p.CPUs = append(p.CPUs, cpu)
		}
	}
	return p, nil
}

// Place sets a thread's policy and CPUs; without CPUs it leaves its affinity unchanged.
//
//	chrt --fifo -p 50 TID; taskset -pc 2,3 TID
func (p Placement) Place(tid int) error {
	if len(p.CPUs) > 0 {
		var set unix.CPUSet
		for _, cpu := range p.CPUs {
			set.Set(cpu)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return fmt.Errorf("move thread %d to CPUs %v: %w", tid, p.CPUs, err)
		}
	}
	attributes := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: p.Policy, Nice: p.Nice, Priority: p.Priority}
	if err := unix.SchedSetAttr(tid, attributes, 0); err != nil {
		return fmt.Errorf("schedule thread %d as %s: %w", tid, p, err)
	}
	return nil
}

// Threads are the kernel threads of a device's instances, by their names: napi/DEVICE-ID,
// cut to 15 characters (napi_kthread_create in net/core/dev.c). Devices of that name in
// other namespaces have such threads too. It is for kernels that do not report an
// instance's thread.
func Threads(device string) (map[int]string, error) {
	found := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	prefix := "napi/" + device + "-"
	if len(prefix) > 15 {
		prefix = prefix[:15]
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		name, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "comm"))
		if err == nil && strings.HasPrefix(string(name), prefix) && isKernelThread(pid) {
			found[pid] = strings.TrimSpace(string(name))
		}
	}
	return found, nil
}

// isKernelThread is true for a process without an executable.
func isKernelThread(pid int) bool {
	link, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return err != nil && link == ""
}

package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/files"
)

// readInterrupts reads /proc/interrupts, and the affinity of device interrupts.
func readInterrupts(t Tree) (devices, local []Interrupt) {
	var cpus []int
	for line := range strings.SplitSeq(files.Text(t, "/proc/interrupts"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if cpus == nil {
			// The heading names the CPUs that are online: "CPU0 CPU1 CPU4".
			cpus = []int{}
			for _, word := range words {
				if id, err := strconv.Atoi(strings.TrimPrefix(word, "CPU")); err == nil {
					cpus = append(cpus, id)
				}
			}
			continue
		}
		one, ok := parseInterrupt(words, cpus)
		if !ok {
			continue // ERR and MIS are not per CPU
		}
		if _, err := strconv.Atoi(one.ID); err != nil {
			local = append(local, one)
			continue
		}
		dir := "/proc/irq/" + one.ID
		one.Affinity = files.Text(t, dir+"/smp_affinity_list")
		one.Effective = files.Text(t, dir+"/effective_affinity_list")
		devices = append(devices, one)
	}
	return devices, local
}

// parseInterrupt reads a line with a count for each CPU, such as "36: 0 18889862
// PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0".
func parseInterrupt(words []string, cpus []int) (Interrupt, bool) {
	id, ok := strings.CutSuffix(words[0], ":")
	if !ok || len(words) < 1+len(cpus) || len(cpus) == 0 {
		return Interrupt{}, false
	}
	one := Interrupt{ID: id, Counts: map[int]int64{}}
	for i, cpu := range cpus {
		n, err := strconv.ParseInt(words[1+i], 10, 64)
		if err != nil {
			return Interrupt{}, false
		}
		if n > 0 {
			one.Counts[cpu] = n
		}
	}
	rest := words[1+len(cpus):]
	if _, err := strconv.Atoi(id); err == nil && len(rest) > 2 {
		rest = rest[2:] // the controller, then its hardware number and trigger type
	}
	one.Name = strings.Join(rest, " ")
	return one, true
}

// Total is the interrupt's count summed over the CPUs.
func (i Interrupt) Total(cpus []int) int64 {
	var n int64
	for _, cpu := range cpus {
		n += i.Counts[cpu]
	}
	return n
}

// MayCome reports whether the interrupt may reach a CPU: by its effective affinity if the
// kernel reports one, otherwise by its allowed affinity.
func (i Interrupt) MayCome(cpu int) bool {
	list := i.Effective
	if list == "" {
		list = i.Affinity
	}
	cpus, err := cpulist.Parse(list)
	return err == nil && slices.Contains(cpus, cpu)
}

// readUsage reads the lines of /proc/stat that are about one CPU.
func readUsage(t Tree) []CPUUsage {
	var list []CPUUsage
	for line := range strings.SplitSeq(files.Text(t, "/proc/stat"), "\n") {
		if len(line) < 4 || !strings.HasPrefix(line, "cpu") || line[3] == ' ' {
			continue // the sum of all CPUs has no number
		}
		var u CPUUsage
		var user, nice, system, wait int64
		// proc_stat(5); steal exists since 2.6.11.
		n, _ := fmt.Sscanf(line, "cpu%d %d %d %d %d %d %d %d %d", &u.CPU, &user, &nice, &system, &u.Idle, &wait, &u.IRQ, &u.SoftIRQ, &u.Steal)
		if n != 9 {
			continue
		}
		u.Idle += wait
		u.Total = user + nice + system + u.Idle + u.IRQ + u.SoftIRQ + u.Steal
		list = append(list, u)
	}
	return list
}

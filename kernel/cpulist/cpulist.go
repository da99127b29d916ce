// Package cpulist reads and writes sets of CPUs, or of NUMA nodes, as the kernel does: "0-3,8".
// It is pure.
package cpulist

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// maxCPU limits the numbers in a CPU list (the kernel's NR_CPUS is at most 8192), so that
// "0-4000000000" is an error and not an allocation.
const maxCPU = 1 << 16

// Parse parses the kernel's list format, "0-3,8,10-11", into sorted numbers without
// duplicates. The empty string is the empty list.
func Parse(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	list := []int{}
	if s == "" {
		return list, nil
	}
	seen := map[int]bool{}
	for _, part := range strings.Split(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := parseCPU(first)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", s, err)
		}
		hi := lo
		if isRange {
			if hi, err = parseCPU(last); err != nil {
				return nil, fmt.Errorf("CPU list %q: %w", s, err)
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("CPU list %q: %d-%d runs backwards", s, lo, hi)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			if !seen[cpu] {
				seen[cpu] = true
				list = append(list, cpu)
			}
		}
	}
	sort.Ints(list)
	return list, nil
}

func parseCPU(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= maxCPU {
		return 0, fmt.Errorf("%q is not a CPU number; write a list such as \"2-3,8\"", s)
	}
	return n, nil
}

// Format writes sorted numbers in the kernel's list format: "0-3,8".
func Format(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

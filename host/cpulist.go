package host

import "nines.dev/nines/kernel/cpulist"

// ParseCPUList parses a list of an inventory's CPUs, "0-3,8".
func ParseCPUList(s string) ([]int, error) { return cpulist.Parse(s) }

// FormatCPUList writes sorted numbers of CPUs, "0-3,8".
func FormatCPUList(cpus []int) string { return cpulist.Format(cpus) }

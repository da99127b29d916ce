package tasks

import (
	"slices"

	"nines.dev/nines/kernel/cpulist"
)

// Set is a sorted set of CPUs.
type Set []int

// ParseSet parses the kernel's list format, "0-3,8".
func ParseSet(list string) (Set, error) { return cpulist.Parse(list) }

// String is the kernel's list format.
func (s Set) String() string { return cpulist.Format(s) }

// Plus is the union of two sets.
func (s Set) Plus(others Set) Set {
	all := slices.Concat(s, others)
	slices.Sort(all)
	return slices.Compact(all)
}

// Minus is the set without others.
func (s Set) Minus(others Set) Set {
	return slices.DeleteFunc(slices.Clone(s), func(cpu int) bool { return slices.Contains(others, cpu) })
}

// Meets is true if the two have a CPU in common.
func (s Set) Meets(other Set) bool {
	return slices.ContainsFunc(s, func(cpu int) bool { return slices.Contains(other, cpu) })
}

// Holds is true if all of the other's CPUs are in the set.
func (s Set) Holds(other Set) bool {
	return !slices.ContainsFunc(other, func(cpu int) bool { return !slices.Contains(s, cpu) })
}

// Equal is true if both have the same CPUs.
func (s Set) Equal(other Set) bool { return slices.Equal(s, other) }

package check

import (
	"testing"

	"nines.dev/nines/lab/isolate"
)

func TestCompareGroups(t *testing.T) {
	set := []isolate.Group{{Path: "/l", Partition: "isolated", CPUs: "2-3"}}
	for want, now := range map[string][]isolate.Group{
		"":                         set,
		"control group /l is gone": nil,
		"control group /l had CPUs 2-3 (isolated), and has  (isolated invalid (Cpu list in cpuset.cpus not exclusive))": {
			{Path: "/l", Partition: "isolated invalid (Cpu list in cpuset.cpus not exclusive)"},
		},
	} {
		if got := compareGroups(set, now); got != want {
			t.Errorf("%v: %q, want %q", now, got, want)
		}
	}
}

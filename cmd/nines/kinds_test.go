package main

import (
	"slices"
	"testing"

	"nines.dev/nines/journal"
)

// TestEveryKindOfStepCanBeUndone: journals on disk hold these kinds, also those of earlier
// versions. Never remove a kind from this list; add new ones.
func TestEveryKindOfStepCanBeUndone(t *testing.T) {
	want := []journal.Kind{
		"cgroup", "container", "cut", "device", "directory", "function", "host_node", "host_script", "housekeeping", "hugepages",
		"link", "lxc traces", "module", "network", "node mark", "oci container", "pod", "port", "process", "setting",
		"sshd folder", "symlink", "threads", "tree", "uplink", "uplink address",
	}
	if got := journal.Kinds(); !slices.Equal(got, want) {
		t.Errorf("nines undoes steps of the kinds %q, and journals have %q", got, want)
	}
}

package node

import (
	"testing"

	"nines.dev/nines/plan"
)

// TestRuntimesAreAsDescribed: each runtime has a descriptor, and is a Guest where the descriptor
// says so.
func TestRuntimesAreAsDescribed(t *testing.T) {
	for name, r := range runtimes {
		d := name.Descriptor()
		if d.Doc == "" {
			t.Errorf("%s has no descriptor in package spec", name)
		}
		if guest := GuestOf(plan.Node{Runtime: name}) != nil; guest != d.Guest {
			t.Errorf("%s: Guest is %v in its descriptor, and %v in %T", name, d.Guest, guest, r)
		}
	}
	if err := RuntimeOf(plan.Node{Runtime: "pod"}).Check(plan.Node{}); err == nil {
		t.Error("a runtime that is not known was taken")
	}
}

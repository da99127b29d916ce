package node

import (
	"os"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestAMountNamespaceEndsWithItsCall: the process itself stays in its own, also where the call began
// on its main thread, as some of so many do.
func TestAMountNamespaceEndsWithItsCall(t *testing.T) {
	labtest.Root(t)
	namespace := func() string {
		t.Helper()
		link, err := os.Readlink("/proc/self/ns/mnt")
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	before := namespace()
	for range 300 {
		err := inMountNamespace(func() error {
			if inside, err := os.Readlink("/proc/thread-self/ns/mnt"); err != nil || inside == before {
				t.Errorf("the call is in %s: %v", inside, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if after := namespace(); after != before {
		t.Errorf("the process is in %s now, and was in %s", after, before)
	}
}

package analyze

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// TestCapturesAreRefusedBeforeMemoryRunsOut: both captures share what the host has.
func TestCapturesAreRefusedBeforeMemoryRunsOut(t *testing.T) {
	a := newAllowance(4 * packetBytes * 100)
	for _, path := range []string{"pre", "post", "pre"} {
		if err := a.take(path, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.take("post.pcap", 1); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "post.pcap") {
		t.Errorf("one packet too many: %v", err)
	}
	if err := newAllowance(0).take("pre", 1<<40); err != nil {
		t.Errorf("without knowing the memory: %v", err)
	}
	if n := availableMemory(); n < 1<<20 {
		t.Errorf("this host has %d bytes to spare", n)
	}
}

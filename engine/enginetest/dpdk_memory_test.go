package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/test/labtest"
)

const engineMemory = 64 << 20

func freeHugepages(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	labtest.Require(t, "hugepages of 2 MiB in the kernel", err == nil)
	var free int
	if _, err := fmt.Sscan(string(text), &free); err != nil {
		t.Fatal(err)
	}
	return free
}

// hugepageLedger is the one of the host's labs, so that a test takes no pages that are a lab's.
const hugepageLedger = "/run/nines/hugepages.json"

// wantHugepages claims hugepages until the test ends.
func wantHugepages(t *testing.T, pages int) {
	t.Helper()
	labtest.Require(t, "root, for DPDK's memory", os.Geteuid() == 0)
	labtest.Hugepages(t)
	if err := os.MkdirAll(filepath.Dir(hugepageLedger), 0o755); err != nil {
		t.Fatal(err)
	}
	// A claim lasts as long as its journal.
	journal := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ledger, pool := hugepages.Ledger{Path: hugepageLedger}, hugepages.Of(0, 2<<20)
	err := ledger.Claim(pool, journal, journal, pages)
	labtest.Require(t, fmt.Sprintf("memory for %d hugepages of 2 MiB (%v)", pages, err), err == nil)
	t.Cleanup(func() {
		if err := ledger.Release(pool, journal); err != nil {
			t.Error(err)
		}
	})
}

// TestDPDKGivesMemoryBack: the pages of a killed engine return to the host, and it
// leaves no file in a hugetlbfs or in /run/dpdk.
func TestDPDKGivesMemoryBack(t *testing.T) {
	engine := startDPDK(t, "", true)
	held := freeHugepages(t)
	engine.Kill(t)
	deadline := time.Now().Add(20 * time.Second)
	for freeHugepages(t) < held+engineMemory>>21 {
		if time.Now().After(deadline) {
			t.Fatalf("%d pages are free, and were %d before the engine that held %d was killed",
				freeHugepages(t), held, engineMemory>>21)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, pattern := range []string{"/dev/hugepages/nxt*", "/run/dpdk/nxt*", "/run/nines-dpdk-*/dpdk/nxt*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

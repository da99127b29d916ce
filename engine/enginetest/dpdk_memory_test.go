package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

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

// wantHugepages makes sure that so many hugepages are free until the test ends.
func wantHugepages(t *testing.T, pages int) {
	t.Helper()
	labtest.Require(t, "root, for DPDK's memory", os.Geteuid() == 0)
	labtest.Hugepages(t)
	before := reservedHugepages(t)
	// Where memory is in pieces, the kernel reserves fewer than it is asked for.
	for try := 0; try < 20 && freeHugepages(t) < pages; try++ {
		if try > 0 {
			_ = os.WriteFile("/proc/sys/vm/compact_memory", []byte("1"), 0) // a kernel may not have it
			time.Sleep(100 * time.Millisecond)
		}
		reserveHugepages(t, reservedHugepages(t)+pages-freeHugepages(t))
	}
	added := reservedHugepages(t) - before // another test of this process may have its own
	t.Cleanup(func() { reserveHugepages(t, reservedHugepages(t)-added) })
	labtest.Require(t, fmt.Sprintf("memory for %d hugepages of 2 MiB", pages), freeHugepages(t) >= pages)
}

const nrHugepages = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"

func reservedHugepages(t *testing.T) (reserved int) {
	t.Helper()
	text, err := os.ReadFile(nrHugepages)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &reserved); err != nil {
		t.Fatal(err)
	}
	return reserved
}

func reserveHugepages(t *testing.T, pages int) {
	t.Helper()
	if err := os.WriteFile(nrHugepages, []byte(strconv.Itoa(pages)), 0); err != nil {
		t.Fatal(err)
	}
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

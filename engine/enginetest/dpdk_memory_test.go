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
	if missing := pages - freeHugepages(t); missing > 0 {
		addHugepages(t, missing)
		t.Cleanup(func() { addHugepages(t, -missing) })
	}
	labtest.Require(t, fmt.Sprintf("memory for %d hugepages of 2 MiB", pages), freeHugepages(t) >= pages)
}

func addHugepages(t *testing.T, pages int) {
	t.Helper()
	const path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var reserved int
	if _, err := fmt.Sscan(string(text), &reserved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(reserved+pages)), 0); err != nil {
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

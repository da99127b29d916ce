package hugepages

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Pool is the sysfs folder of a hugepage size, for a NUMA node or the whole host.
type Pool string

// Of is the pool of a size on a NUMA node; on a kernel without NUMA it is the host's pool.
func Of(numaNode int, pageBytes int64) Pool {
	size := fmt.Sprintf("hugepages-%dkB", pageBytes>>10)
	pool := fmt.Sprintf("/sys/devices/system/node/node%d/hugepages/%s", numaNode, size)
	if _, err := os.Stat(pool); err != nil {
		pool = filepath.Join("/sys/kernel/mm/hugepages", size)
	}
	return Pool(pool)
}

// Counts are a pool's pages.
type Counts struct {
	// Reserved pages stay in the pool when they are unused.
	Reserved int
	// Free pages are unused.
	Free int
	// Surplus pages are in use, and go back to the kernel with their last user.
	Surplus int
}

// Read counts the pages of a pool.
func (p Pool) Read() (Counts, error) {
	total, err := p.number("nr_hugepages")
	if err != nil {
		return Counts{}, err
	}
	free, err := p.number("free_hugepages")
	if err != nil {
		return Counts{}, err
	}
	surplus, err := p.number("surplus_hugepages")
	return Counts{Reserved: total - surplus, Free: free, Surplus: surplus}, err
}

func (p Pool) number(file string) (int, error) {
	text, err := os.ReadFile(filepath.Join(string(p), file))
	if err != nil {
		return 0, fmt.Errorf("count hugepages: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("count hugepages: %s: %w", file, err)
	}
	return n, nil
}

// attempts is how often the kernel is asked if it does not find all pages.
const attempts = 3

// set asks the kernel for a number of reserved pages; it may find fewer. The kernel looks
// for memory and compacts it before the write returns, but gives up early if a recent
// compaction failed (defer_compaction in mm/compaction.c). Then set compacts all memory and
// asks again.
func (p Pool) set(pages int) error {
	path := filepath.Join(string(p), "nr_hugepages")
	for attempt := 1; ; attempt++ {
		if err := os.WriteFile(path, []byte(strconv.Itoa(pages)), 0o644); err != nil {
			return fmt.Errorf("write %d to %s: %w", pages, path, err)
		}
		counts, err := p.Read()
		if err != nil || counts.Reserved >= pages || attempt == attempts {
			return err
		}
		// A kernel without CONFIG_COMPACTION has no such file.
		if err := os.WriteFile("/proc/sys/vm/compact_memory", []byte("1"), 0); err != nil {
			return nil
		}
	}
}

package lab

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestAnEngineAwaitsItsPages: another process has pages that the lab has claimed, and gives them back a moment later,
// as processes of a lab that ends do.
func TestAnEngineAwaitsItsPages(t *testing.T) {
	labtest.Root(t)
	labtest.Hugepages(t)
	text := strings.Replace(labs.RealSwitch("memif", "netns", "dpdk", "dpdk", 64), "name: tbreal", "name: tbpages", 1)
	lab := up(t, text) // its generator's engine has not started
	giveBack := holdPages(t, lab.Plan(), lab.Plan().Hugepages.Demands[0].Pages)
	time.AfterFunc(time.Second, giveBack)
	drive(t, lab, func(*client.Client) {})
}

// holdPages takes pages of a lab's pool until fewer than that many are free.
func holdPages(t *testing.T, p *plan.Plan, fewer int) (giveBack func()) {
	t.Helper()
	var held [][]byte
	for {
		counts, err := traces.PoolOf(p).Read()
		if err != nil {
			t.Fatal(err)
		}
		if counts.Free < fewer {
			break
		}
		page, err := unix.Mmap(-1, 0, int(p.Hugepages.PageBytes), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB|unix.MAP_POPULATE)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, page)
	}
	return func() {
		for _, page := range held {
			_ = unix.Munmap(page)
		}
	}
}

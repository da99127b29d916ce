package hugepages

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/kernel/await"
)

// patience is how long processes of other labs may take to give back their pages; a busy host needs seconds.
const patience = 10 * time.Second

// AwaitMemory waits until a program that is about to start finds as many bytes in free pages on a NUMA node, for at most
// 10 s: pages that are claimed may be missing for a moment. When another lab ends while the kernel still frees the
// memory of its processes, the kernel removes pages that are free in place of theirs (set_max_huge_pages in
// mm/hugetlb.c), which come back as theirs are freed. If too few are free even then, the program says so itself. The
// error is the context's.
func AwaitMemory(ctx context.Context, numaNode int, bytes, pageBytes int64) error {
	return Of(numaNode, pageBytes).awaitFree(ctx, int((bytes+pageBytes-1)/pageBytes))
}

// awaitFree does not wait for pages that the pool does not have.
func (p Pool) awaitFree(ctx context.Context, pages int) error {
	_, err := await.InTime(ctx, await.Condition{
		What: "the hugepages are free", Within: patience, Every: 5 * time.Millisecond, UpTo: 100 * time.Millisecond,
		Holds: func(context.Context) error {
			counts, err := p.Read()
			if err == nil && counts.Free < pages && counts.Reserved >= pages {
				return fmt.Errorf("%d are, and %d are wanted", counts.Free, pages)
			}
			return await.Never(err)
		},
	})
	return err
}

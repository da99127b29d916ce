package hugepages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// host is a folder that looks like one of the kernel's pools, with a number of pages in use
// and memory for at most most.
type host struct {
	t          *testing.T
	pool       Pool
	ledger     Ledger
	used, most int
	// dies is called before and after the number changes.
	dies func(after bool)
}

func newHost(t *testing.T, reserved, used int) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, pool: Pool(dir), used: used, most: 1000, dies: func(bool) {}}
	h.ledger = Ledger{Path: filepath.Join(dir, "ledger"), write: func(_ Pool, pages int) error {
		h.dies(false)
		h.set(min(pages, h.most))
		h.dies(true)
		return nil
	}}
	h.set(reserved)
	return h
}

// set writes the kernel's three files: pages in use above the count are surplus.
func (h *host) set(pages int) {
	total := max(pages, h.used)
	for file, n := range map[string]int{"nr_hugepages": total, "free_hugepages": total - h.used, "surplus_hugepages": total - pages} {
		if err := os.WriteFile(filepath.Join(string(h.pool), file), []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
}

// journal is the journal of the lab with a token; it exists until the test removes it.
func (h *host) journal(token string) string {
	h.t.Helper()
	path := filepath.Join(string(h.pool), token+".jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *host) claim(token string, wanted int) {
	h.t.Helper()
	if err := h.ledger.Claim(h.pool, token, h.journal(token), wanted); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) release(token string) {
	h.t.Helper()
	if err := h.ledger.Release(h.pool, token); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) reserved(want int) {
	h.t.Helper()
	counts, err := h.pool.Read()
	if err != nil || counts.Reserved != want {
		h.t.Fatalf("%d pages are reserved, not %d (%v)", counts.Reserved, want, err)
	}
}

func (h *host) free(want int) {
	h.t.Helper()
	counts, err := h.pool.Read()
	if err != nil || counts.Free != want {
		h.t.Fatalf("%d pages are free, not %d (%v)", counts.Free, want, err)
	}
}

// closed fails the test if the ledger still exists.
func (h *host) closed() {
	h.t.Helper()
	if _, err := os.Stat(h.ledger.Path); err == nil {
		h.t.Fatal("the ledger is there without claims")
	}
}

func TestOnlyWhatIsMissingIsAdded(t *testing.T) {
	for _, test := range []struct{ reserved, used, wanted, after int }{
		{0, 0, 40, 40}, {100, 0, 40, 100}, {100, 90, 40, 130}, {100, 100, 40, 140},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			h := newHost(t, test.reserved, test.used)
			h.claim("a", test.wanted)
			h.reserved(test.after)
			h.release("a")
			h.release("a")
			h.reserved(test.reserved)
			h.closed()
		})
	}
}

func TestTwoLabsAddUpAndEndInAnyOrder(t *testing.T) {
	labtest.Guarantee(t)
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		h := newHost(t, 100, 70)
		// None has taken its pages yet when the next one claims.
		h.claim("a", 40)
		h.claim("b", 50)
		h.claim("c", 10)
		h.reserved(170) // 70 in use, 100 for the three
		added := map[string]int{"a": 10, "b": 50, "c": 10}
		left := 170
		for _, token := range order {
			h.release(token)
			left -= added[token]
			h.reserved(left)
		}
		h.reserved(100)
		h.closed()
	}
}

func TestTheNumberThatOthersSetStays(t *testing.T) {
	h := newHost(t, 0, 0)
	h.claim("a", 40)
	h.set(140) // another process adds 100
	h.release("a")
	h.reserved(100)
	h.claim("a", 140)
	h.set(10) // and then removes all
	h.release("a")
	h.reserved(0)
}

func TestPagesInUseAreGivenBackToo(t *testing.T) {
	h := newHost(t, 10, 0)
	h.claim("a", 40)
	h.used = 40
	h.set(40)
	h.release("a")
	h.reserved(10)
	h.used = 0
	h.set(10)
	h.claim("b", 20)
	h.reserved(20)
}

// TestPagesThatOthersStillUseAreNotCounted: surplus pages, such as those of an engine whose end the kernel has not
// finished, become reserved ones first.
func TestPagesThatOthersStillUseAreNotCounted(t *testing.T) {
	h := newHost(t, 0, 5)
	h.claim("a", 40)
	h.free(40)
	h.claim("b", 10)
	h.free(50)
	h.release("a")
	h.release("b")
	h.reserved(0)
	h.closed()
}

// TestPagesOfTheKernelThatOthersStillUseAreNotCounted does it with the host's pages.
func TestPagesOfTheKernelThatOthersStillUseAreNotCounted(t *testing.T) {
	labtest.Root(t)
	labtest.Hugepages(t)
	const others, wanted = 2, 4
	pool, ledger := Of(0, 2<<20), Ledger{Path: filepath.Join(t.TempDir(), "ledger")}
	before, err := pool.Read()
	if err != nil {
		t.Fatal(err)
	}
	// More than are free, so that the count must change.
	err = ledger.Claim(pool, "others", "", before.Free+others)
	labtest.Require(t, fmt.Sprintf("memory for hugepages of 2 MiB (%v)", err), err == nil)
	held, err := unix.Mmap(-1, 0, (before.Free+others)*2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(held) }()
	if err := ledger.Release(pool, "others"); err != nil {
		t.Fatal(err)
	}
	if counts, err := pool.Read(); err != nil || counts.Surplus < others {
		t.Fatalf("the pages in use are not surplus: %+v, %v", counts, err)
	}
	if err := ledger.Claim(pool, "a", "", wanted); err != nil {
		t.Fatal(err)
	}
	if counts, err := pool.Read(); err != nil || counts.Free < wanted {
		t.Errorf("%d pages were claimed, and the pool is %+v, %v", wanted, counts, err)
	}
	if err := ledger.Release(pool, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ledger.Path); err == nil {
		t.Error("the ledger is there without claims")
	}
}

func TestAKernelThatFindsTooFewKeepsNone(t *testing.T) {
	h := newHost(t, 100, 100)
	h.most = 130
	err := h.ledger.Claim(h.pool, "a", h.journal("a"), 40)
	var short *ShortError
	if !errors.As(err, &short) || short.Got != 30 || short.Missing != 40 {
		t.Fatalf("got %v", err)
	}
	h.reserved(100)
	h.closed()
}

// TestAKilledProcessIsAccountedFor kills a process before, during and after the kernel's
// change of the count, in a claim and in a release; then another lab comes first, or its
// own undo.
func TestAKilledProcessIsAccountedFor(t *testing.T) {
	labtest.Guarantee(t)
	type death struct{}
	die := func(f func()) {
		defer func() {
			if _, ours := recover().(death); !ours {
				t.Fatal("it was not killed")
			}
		}()
		f()
	}
	for _, after := range []bool{false, true} {
		for _, otherFirst := range []bool{false, true} {
			for _, releasing := range []bool{false, true} {
				for _, most := range []int{1000, 120} { // 120: the kernel finds 20 of 40
					h := newHost(t, 100, 100)
					kill := func(at bool) {
						if at == after {
							panic(death{})
						}
					}
					if releasing {
						h.claim("a", 40)
						h.dies = kill
						die(func() { _ = h.ledger.Release(h.pool, "a") })
					} else {
						h.most, h.dies = most, kill
						die(func() { _ = h.ledger.Claim(h.pool, "a", h.journal("a"), 40) })
					}
					h.dies, h.most = func(bool) {}, 1000
					if otherFirst {
						h.claim("b", 5)
					}
					h.release("a")
					h.release("b")
					h.reserved(100)
					h.closed()
				}
			}
		}
	}
}

// TestALabWhoseStateIsLostIsReleased: the next claim or release releases it, and no other
// lab.
func TestALabWhoseStateIsLostIsReleased(t *testing.T) {
	for _, next := range []func(h *host){
		func(h *host) { h.claim("c", 5); h.reserved(155); h.release("c") },
		func(h *host) { h.release("a") },
	} {
		h := newHost(t, 100, 100)
		h.claim("a", 40)
		h.claim("b", 50)
		if err := os.Remove(h.journal("a")); err != nil {
			t.Fatal(err)
		}
		h.reserved(190)
		next(h)
		h.reserved(150)
		h.release("b")
		h.reserved(100)
		h.closed()
	}
}

// TestAClaimStaysWhereTheLabMayLive: if its journal cannot be read, or is not recorded.
func TestAClaimStaysWhereTheLabMayLive(t *testing.T) {
	h := newHost(t, 100, 100)
	for token, journal := range map[string]string{"a": filepath.Join(h.journal("file"), "journal.jsonl"), "b": ""} {
		if err := h.ledger.Claim(h.pool, token, journal, 40); err != nil {
			t.Fatal(err)
		}
	}
	h.claim("c", 50)
	h.reserved(230)
}

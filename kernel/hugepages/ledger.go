package hugepages

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/ledger"
)

// Ledger is the file that records which labs have added pages to which pool.
type Ledger struct {
	Path string
	// write replaces Pool.set in tests.
	write func(Pool, int) error
}

// ShortError says that the kernel did not find memory for all pages. None was kept.
type ShortError struct {
	Pool Pool
	// Of the Wanted pages, Missing were not free; the kernel found Got of these.
	Wanted, Missing, Got int
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("%d hugepages are requested, %d more than are free, and the kernel found contiguous memory for %d of these (%s)",
		e.Wanted, e.Missing, e.Got, e.Pool)
}

// ledgerFile is the file's content.
type ledgerFile struct {
	// BootID is the kernel's boot ID: after a reboot all claims are void.
	BootID string            `json:"boot_id"`
	Pools  map[Pool]*account `json:"pools"`
}

// Empty is true if there are no claims.
func (f *ledgerFile) Empty() bool {
	for _, a := range f.Pools {
		if len(a.Claims) > 0 {
			return false
		}
	}
	return true
}

// account is what labs changed in one pool.
type account struct {
	Claims map[string]*claim `json:"claims"`
	// Pending is a change that may or may not have been made; nil if there is none.
	Pending *change `json:"pending,omitempty"`
}

// claim is one lab's claim.
type claim struct {
	// Wanted is how many pages the lab uses at most, Added how many were added to the
	// pool for it.
	Wanted int `json:"wanted"`
	Added  int `json:"added"`
	// Journal is the lab's journal: without it nothing would release the claim. It is
	// empty in claims of versions of nines that did not record it.
	Journal string `json:"journal,omitempty"`
}

// isOrphan reports whether the lab's journal is gone while its claim remains, because the
// state folder of a running lab was removed. A journal that cannot be read counts as
// present.
func (c *claim) isOrphan() bool {
	if c.Journal == "" {
		return false
	}
	_, err := os.Lstat(c.Journal)
	return errors.Is(err, fs.ErrNotExist)
}

// change goes from one number of reserved pages to another, for a claim that had Added.
type change struct {
	Token string `json:"token"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Added int    `json:"added"`
}

// Claim adds to a pool what is missing for the wanted pages, and records it under the
// token. The claim lasts as long as the lab's journal exists, whose undo releases it. Free
// pages that others have claimed count as theirs, since they may not have taken them yet.
func (l Ledger) Claim(pool Pool, token, journal string, wanted int) error {
	return l.transact(pool, func(save func() error, a *account) error {
		counts, err := pool.Read()
		if err != nil {
			return err
		}
		free := counts.Free
		for _, other := range a.Claims {
			free -= other.Wanted
		}
		missing := max(0, wanted-max(0, free))
		a.Claims[token] = &claim{Wanted: wanted, Journal: journal}
		if missing == 0 {
			return save()
		}
		got, err := l.change(pool, a, token, missing, save)
		if err == nil && got < missing {
			err = &ShortError{Pool: pool, Wanted: wanted, Missing: missing, Got: max(0, got)}
		}
		if err != nil {
			return errors.Join(err, l.release(pool, a, token, save))
		}
		return nil
	})
}

// Claims are the claims of a journal: their pools, and the token of each.
func (l Ledger) Claims(journal string) (map[Pool]string, error) {
	file := &ledgerFile{}
	if err := (ledger.File{Path: l.Path}).Read(file); err != nil {
		return nil, err
	}
	claims := map[Pool]string{}
	for pool, a := range file.Pools {
		for token, c := range a.Claims {
			if c.Journal == journal {
				claims[pool] = token
			}
		}
	}
	return claims, nil
}

// Release removes the pages that were added for a token. It may be repeated.
func (l Ledger) Release(pool Pool, token string) error {
	return l.transact(pool, func(save func() error, a *account) error {
		return l.release(pool, a, token, save)
	})
}

func (l Ledger) release(pool Pool, a *account, token string, save func() error) error {
	c := a.Claims[token]
	if c == nil {
		return nil
	}
	if c.Added > 0 {
		if _, err := l.change(pool, a, token, -c.Added, save); err != nil {
			return err
		}
	}
	delete(a.Claims, token)
	return save()
}

// change adds free pages to a pool, or removes pages, for a claim. It returns how many more are free.
//
// Where a pool has surplus pages, the kernel counts these first as reserved when it is to have more, and makes only the
// rest (set_max_huge_pages in mm/hugetlb.c). The program that uses them still has them, perhaps only until the
// kernel has taken its memory from a process that was killed. So a claim adds them, too.
func (l Ledger) change(pool Pool, a *account, token string, by int, save func() error) (int, error) {
	counts, err := pool.Read()
	if err != nil {
		return 0, err
	}
	added, surplus := a.Claims[token].Added, 0
	if by > 0 {
		surplus = counts.Surplus
	}
	a.Pending = &change{Token: token, From: counts.Reserved, To: max(0, counts.Reserved+surplus+by), Added: added}
	if err := save(); err != nil {
		return 0, err
	}
	set := l.write
	if set == nil {
		set = Pool.set
	}
	err = fault.Fail("before hugepages")
	if err == nil {
		err = set(pool, a.Pending.To)
	}
	if err != nil {
		return 0, errors.Join(err, a.settle(pool), save())
	}
	fault.Point("after hugepages")
	if err := a.settle(pool); err != nil {
		return 0, err
	}
	return a.Claims[token].Added - added - surplus, save()
}

// settle finds out how far a pending change got.
func (a *account) settle(pool Pool) error {
	p := a.Pending
	if p == nil {
		return nil
	}
	counts, err := pool.Read()
	if err != nil {
		return err
	}
	if c := a.Claims[p.Token]; c != nil {
		reached := min(max(counts.Reserved, min(p.From, p.To)), max(p.From, p.To))
		c.Added = max(0, p.Added+reached-p.From)
	}
	a.Pending = nil
	return nil
}

// transact runs f on a pool's account while it is locked, after releasing the claims of
// labs that are gone.
func (l Ledger) transact(pool Pool, f func(save func() error, a *account) error) error {
	id, err := boot.ID()
	if err != nil {
		return err
	}
	file := &ledgerFile{}
	return ledger.File{Path: l.Path, Mode: 0o600}.Change(file, func(save func() error) error {
		if file.BootID != id || file.Pools == nil {
			*file = ledgerFile{BootID: id, Pools: map[Pool]*account{}}
		}
		a := file.Pools[pool]
		if a == nil {
			a = &account{}
			file.Pools[pool] = a
		}
		if a.Claims == nil {
			a.Claims = map[string]*claim{}
		}
		if err := a.settle(pool); err != nil {
			return err
		}
		for _, token := range slices.Sorted(maps.Keys(a.Claims)) {
			c := a.Claims[token]
			if !c.isOrphan() {
				continue
			}
			if err := l.release(pool, a, token, save); err != nil {
				return fmt.Errorf("release the hugepages of a lab whose %s is gone: %w", c.Journal, err)
			}
		}
		return f(save, a)
	})
}

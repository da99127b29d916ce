package traces

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// HugepageClaim is a lab's claim on a pool of hugepages.
type HugepageClaim struct {
	Pool    hugepages.Pool
	Journal string
	Added   int
}

// IsBelow reports whether the lab's state.Folder is in a folder.
func (c HugepageClaim) IsBelow(folder string) bool { return strings.HasPrefix(c.Journal, folder+"/") }

// HugepageClaims are the claims of all labs on this host, including those of other tests.
func HugepageClaims(t testing.TB) []HugepageClaim {
	t.Helper()
	text, err := os.ReadFile(state.HugepageLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var ledger struct {
		Pools map[hugepages.Pool]struct {
			Claims map[string]HugepageClaim
		}
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		t.Fatal(err)
	}
	var claims []HugepageClaim
	for pool, account := range ledger.Pools {
		for _, c := range account.Claims {
			c.Pool = pool
			claims = append(claims, c)
		}
	}
	return claims
}

// PoolOf is where a plan's hugepages are reserved.
func PoolOf(p *plan.Plan) hugepages.Pool {
	return hugepages.Of(p.Hugepages.Demands[0].MemoryNode, p.Hugepages.PageBytes)
}

// ForeignPages are the pages of a plan's pool that no lab of this host has added.
func ForeignPages(t testing.TB, p *plan.Plan) int {
	t.Helper()
	counts, err := PoolOf(p).Read()
	if err != nil {
		t.Fatal(err)
	}
	pages := counts.Reserved
	for _, c := range HugepageClaims(t) {
		if c.Pool == PoolOf(p) {
			pages -= c.Added
		}
	}
	return pages
}

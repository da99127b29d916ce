package lab

import (
	"context"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/state"
)

// What else belongs to a lab is found by the packages that make it.
func init() { journal.RegisterSearch(searchHugepages) }

// searchHugepages finds a lab's claims on the host's hugepages.
func searchHugepages(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	claims, err := hugepages.Ledger{Path: state.HugepageLedger}.Claims(sought.Journal)
	var found []journal.Found
	for pool, token := range claims {
		found = append(found, journal.Found{
			Step: journal.Step{Kind: isolate.KindHugepages, Path: string(pool), Target: state.HugepageLedger, Token: token},
		})
	}
	return found, err
}

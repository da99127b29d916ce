package setting

import (
	"context"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/journal"
)

func init() { journal.RegisterSearch(search) }

// search finds the settings that a journal's steps share with others, by the ledger of the host.
func search(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	if sought.Token == "" {
		return nil, nil
	}
	f := &ledgerFile{}
	if err := at(HostLedger).Read(f); err != nil {
		return nil, err
	}
	if err := f.begin(); err != nil {
		return nil, err
	}
	var found []journal.Found
	for _, key := range slices.Sorted(maps.Keys(f.Files)) {
		path, _, _ := strings.Cut(key, " ") // a controller follows
		for _, l := range f.Files[key] {
			if strings.HasPrefix(l.Owner, sought.Token+":") {
				found = append(found, journal.Found{
					Step:   journal.Step{Kind: Kind, Path: path, Old: l.Old, Value: l.Value, Token: l.Owner, Target: HostLedger},
					Learnt: journal.Learnt{Took: l.Took},
				})
			}
		}
	}
	return found, nil
}

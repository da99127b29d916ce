package process

import (
	"context"
	"fmt"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
)

func init() { journal.RegisterSearch(search) }

// search finds the processes that hold a token of the journal.
func search(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	if !strings.HasPrefix(sought.Token, "nines-") {
		return nil, nil // nobody has made it up at random, so others may have it
	}
	var found []journal.Found
	err := proc.Each(func(id proc.Identity) error {
		token, err := id.Begun(sought.Token + ":")
		if token != "" && id.Alive() {
			found = append(found, Found(id, journal.Step{Kind: Kind, Token: token}))
		}
		return err
	})
	return found, err
}

// Found is a process that a search has found, as a step.
func Found(id proc.Identity, step journal.Step) journal.Found {
	if step.Name == "" {
		step.Name = fmt.Sprintf("%d (%s)", id.PID, id.Command())
	}
	return journal.Found{Step: step, Learnt: Learnt(id)}
}

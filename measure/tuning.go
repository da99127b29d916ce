package measure

import (
	"context"
	"slices"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/result"
)

// tuningProbe says at the end whether the host's tuning is still the lab's.
type tuningProbe struct{ lab *lab.Lab }

func (tuningProbe) begin(context.Context) error { return nil }

func (p tuningProbe) end(_ context.Context, o *observation) (err error) {
	o.untuned, err = untuned(p.lab)
	return err
}

// untuned says what others have changed of the host's tuning since the lab has set it; empty if nothing.
func untuned(l *lab.Lab) (string, error) {
	changed, err := check.Untuned(l.Lab)
	if changed == nil || err != nil {
		return "", err
	}
	return "another program has changed the host's tuning: " + changed.Problem, nil
}

// tuningOf returns the part of a lab's host tuning that its results record.
func tuningOf(l *lab.Lab) (*result.Tuning, error) {
	applied, err := l.Tuning()
	if applied == nil || err != nil {
		return nil, err
	}
	t := &result.Tuning{Profile: applied.Profile, CPUs: applied.CPUs, Settings: []result.TuningSetting{}}
	for _, r := range applied.Results {
		one := result.TuningSetting{Name: r.Name, Value: r.Value, Old: r.Old, Outcome: string(r.Outcome), Reason: r.Reason}
		at := slices.IndexFunc(t.Settings, func(s result.TuningSetting) bool {
			s.Files = 0
			return s == one
		})
		if at < 0 {
			t.Settings = append(t.Settings, one)
			continue
		}
		t.Settings[at].Files = max(t.Settings[at].Files, 1) + 1
	}
	return t, nil
}

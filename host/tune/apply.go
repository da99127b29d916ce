package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
)

// Outcome is what became of a setting.
type Outcome string

// The outcomes.
const (
	// Changed settings hold what was wanted, or what the kernel made of it.
	Changed Outcome = "changed"
	// Already settings held it before, and are not touched, then or later.
	Already Outcome = "already"
	// Absent settings are not on this host.
	Absent Outcome = "absent"
	// Refused settings are as they were, because the kernel did not take the value.
	Refused Outcome = "refused"
)

// Result is a setting and what became of it.
type Result struct {
	Setting
	Outcome Outcome `json:"outcome"`
	// Old is what the file held before, Now what it holds; empty for held files.
	Old string `json:"old,omitempty"`
	Now string `json:"now,omitempty"`
	// Reason is why a setting is absent or refused.
	Reason string `json:"reason,omitempty"`
}

// Applier makes settings through a journal.
type Applier struct {
	Journal *journal.Journal
	// Init is the path of nines-init, which holds files open.
	Init string
	// Mark names the steps in the journal; empty is for a journal of nothing else.
	Mark string
	// Link is the link that the settings are for, so that they go with it.
	Link string
	// Ledger is where the settings are shared with others who make some of the same host,
	// setting.HostLedger; empty shares them with nobody.
	Ledger string
}

// Apply makes the settings in their order. What the host lacks or the kernel refuses
// is in the results and no error; an error is that the journal cannot be written or
// that ctx has ended, and what was made until then stays in the journal.
func (a Applier) Apply(ctx context.Context, settings []Setting) ([]Result, error) {
	results := make([]Result, 0, len(settings))
	for _, s := range settings {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		result, err := a.apply(ctx, s)
		if err != nil {
			return results, fmt.Errorf("set %s: %w", s.Name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

func (a Applier) apply(ctx context.Context, s Setting) (Result, error) {
	result := Result{Setting: s}
	if s.Absent != "" {
		result.Outcome, result.Reason = Absent, s.Absent
		return result, nil
	}
	if s.Method == Hold {
		return a.hold(ctx, s)
	}
	old, err := setting.Read(s.Path)
	if err != nil {
		result.Outcome, result.Reason = Absent, "cannot be read: "+err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			result.Reason = "this kernel has no " + s.Path
		}
		return result, nil
	}
	now, changed, err := setting.Make(a.Journal, journal.Step{Name: a.Mark, Link: a.Link, Path: s.Path, Value: s.Value, Target: a.Ledger})
	var refused *setting.RefusedError
	switch {
	case errors.As(err, &refused):
		result.Outcome, result.Old, result.Now, result.Reason = Refused, old, old, refused.Err.Error()
		return result, nil
	case err != nil:
		return result, err
	}
	result.Outcome, result.Old, result.Now = Already, old, now
	if changed {
		result.Outcome = Changed
	}
	return result, nil
}

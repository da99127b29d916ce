package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
)

// Outcome is the result of making a setting.
type Outcome string

// The outcomes.
const (
	// Changed settings hold the wanted value, or what the kernel made of it.
	Changed Outcome = "changed"
	// Already settings held it before, and are not touched, neither now nor by an undo.
	Already Outcome = "already"
	// Absent settings do not exist on this host.
	Absent Outcome = "absent"
	// Refused settings are unchanged, because the kernel refused the value.
	Refused Outcome = "refused"
)

// Result is a setting and its outcome.
type Result struct {
	Setting
	Outcome Outcome `json:"outcome"`
	// Old is what the file held before, Now what it holds now; empty for held files.
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
	// Mark names the steps in the journal; empty if the journal has no other steps.
	Mark string
	// Link is the link that the settings are for, so that they are undone with it.
	Link string
	// Ledger is where the settings are shared with others who change settings of the
	// same host, setting.HostLedger; empty does not share them.
	Ledger string
}

// Apply makes the settings in order. What the host lacks or the kernel refuses is in the
// results and is no error. It returns an error if the journal cannot be written or ctx has
// ended; what was made until then stays in the journal.
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

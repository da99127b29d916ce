package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/spec"
)

// tuneHost applies the plan's profile of host settings. Only one lab at a time can: a second would
// take the first one's values for the host's own.
func (b *builder) tuneHost(ctx context.Context) error {
	if b.Plan().Tuning == "" {
		return nil
	}
	profile, known := tune.BuiltIn(string(b.Plan().Tuning))
	if !known {
		return fmt.Errorf("tuning: unknown profile %q", b.Plan().Tuning)
	}
	inv, err := host.Read()
	if err != nil {
		return err
	}
	holder := filepath.Join("labs", b.Name())
	if err := tune.Claim(b.journal, state.Root(), holder); err != nil {
		return fmt.Errorf("tuning: %w", err)
	}
	applied := &tune.Applied{
		Profile: profile.Name, Source: "lab " + b.Name(), CPUs: b.Plan().TunedCPUs(),
		User: fmt.Sprint("user ", os.Getuid()), PID: os.Getpid(), Since: time.Now().UTC(),
	}
	request := tune.Request{CPUs: applied.CPUs, Profile: profile}
	if b.Plan().Isolation != spec.IsolationIsolated && len(applied.CPUs) > 0 {
		// With isolation: isolated, package isolate sets these itself.
		request.Beside = isolate.Settings(isolate.Away{
			Root: "/", Off: applied.CPUs, Housekeeping: tune.Housekeeping(inv, applied.CPUs), Held: setting.Held(setting.HostLedger),
		})
	}
	var settings []tune.Setting
	for _, row := range tune.MakePlan(inv, request, tune.Live).Settings {
		settings = append(settings, row.Setting)
	}
	applied.Results, err = tune.Applier{Journal: b.journal, Ledger: setting.HostLedger, Init: b.programs.init, Mark: running.TuningMark}.Apply(ctx, settings)
	if err != nil {
		return fmt.Errorf("tuning: %w", err)
	}
	applied.Done = true
	for _, r := range applied.Results {
		if r.Outcome == tune.Refused {
			b.progress(fmt.Sprintf("tuning: the kernel refuses %s in %s (%s)", r.Value, r.Path, r.Reason))
		}
	}
	return state.WriteJSON(b.State().Tuning(), applied)
}

// ofTuning selects the steps of the host's tuning: all of them or, where the lab's tuning only
// changes, all but the claim.
func ofTuning(e journal.Entry, claim bool) bool {
	if e.Kind == journal.KindSymlink {
		return claim && e.Path == tune.ClaimPath(state.Root())
	}
	return e.Name == running.TuningMark && (e.Kind == setting.Kind || e.Kind == process.Kind)
}

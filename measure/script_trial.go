package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/result"
)

// addScripts adds a trial's scripts to its record. One that failed makes the trial invalid: what it
// should have done for the measurement was not done.
func addScripts(rec *result.Record, scripts []result.Script) {
	rec.Trial.Scripts = scripts
	var reasons []string
	for _, s := range scripts {
		if s.How != "" {
			reasons = append(reasons, fmt.Sprintf("the script of node %s %s", s.Node, s.How))
		}
		if s.Cut {
			reasons = append(reasons, fmt.Sprintf("the output of the script of node %s, or of its commands, was cut at the limit; raise scripts: {upload_limit: …}", s.Node))
		}
	}
	if len(reasons) == 0 {
		return
	}
	// First why it was interrupted, if it was: a resumed run looks for that.
	rec.Trial.Verdict, rec.Trial.Reasons = result.Invalid, append(rec.Trial.Reasons, reasons...)
}

// withoutTraffic is why a trial of scripts is neither clean nor noisy.
const withoutTraffic = "the trial sent no traffic: it ran scripts, and no latency was measured"

// scriptTrial is a trial without traffic: what the scripts do. As one with traffic, it is invalid if a
// node was restarted in it, or something of the lab is not as planned at its end.
func (b *bench) scriptTrial(ctx context.Context, r run, repeat int) (result.Record, error) {
	begun := time.Now()
	scripts, err := b.scripts.trial(ctx, r)
	if err != nil {
		return result.Record{}, err
	}
	if ctx.Err() != nil {
		return result.Record{}, context.Cause(ctx) // half of it is nothing, and a resumed run does it again
	}
	rec := b.unmeasured(r, repeat, "scripts")
	rec.Details.DurationNs, rec.Details.StartedUnixNs = time.Since(begun).Nanoseconds(), begun.UnixNano()
	noise, err := untuned(b.lab)
	if err != nil {
		return result.Record{}, err
	}
	if noise != "" {
		rec.Trial.Verdict, rec.Trial.Reasons = result.Noisy, []string{noise}
	}
	if err := b.addDamage(ctx, &rec); err != nil {
		return result.Record{}, err
	}
	if addScripts(&rec, scripts); rec.Trial.Verdict == result.Unmeasured {
		rec.Trial.Reasons = []string{withoutTraffic}
	}
	return rec, nil
}

// addDamage adds to a trial's record what has happened to the lab while its scripts ran.
func (b *bench) addDamage(ctx context.Context, rec *result.Record) error {
	happened, err := b.damage(ctx)
	if err != nil {
		return err
	}
	faults := happened.faults()
	if len(faults) == 0 {
		return nil
	}
	rec.Trial.Verdict = result.Invalid
	for _, fault := range faults {
		// A node that is stopped still was told with the traffic.
		if !slices.Contains(rec.Trial.Reasons, fault.Problem) {
			rec.Trial.Reasons = append(rec.Trial.Reasons, fault.Problem)
		}
	}
	for _, fault := range happened.died {
		b.died = append(b.died, fault.Problem)
	}
	return b.mend(ctx, happened)
}

// trafficAndScripts is a trial that sends traffic while its scripts run. The scripts end by
// themselves, by their timeout, or with ctx.
func (b *bench) trafficAndScripts(ctx context.Context, r run, repeat int) (result.Record, error) {
	if !r.spec.RunsScripts() {
		return b.trial(ctx, r, repeat)
	}
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	var scripts []result.Script
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		scripts, failed = b.scripts.trial(beside, r)
	}()
	b.endScripts = func() {
		cancel()
		<-ended
	}
	defer func() { b.endScripts = nil }()
	rec, err := b.trial(ctx, r, repeat)
	if err != nil {
		cancel() // nobody waits for what they do
	}
	<-ended
	if err = errors.Join(err, failed); err != nil {
		return rec, err
	}
	if b.lab != nil && ctx.Err() == nil { // what happened after the traffic's end, too
		if err := b.addDamage(ctx, &rec); err != nil {
			return rec, err
		}
	}
	addScripts(&rec, scripts)
	return rec, nil
}

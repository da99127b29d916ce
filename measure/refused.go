package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"nines.dev/nines/exit"
	"nines.dev/nines/measure/way"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// blockedPath is what was found of a path that lets nothing through.
type blockedPath struct {
	seen   *result.SeenPath
	reason string
}

// expectedProbes is how many probes would have to come, on a path that loses packets deliberately, before their absence
// says that there is none.
const expectedProbes = 10

// mayRefuse is true where so many probes cannot all have been lost by what is planned: by impairments, by scripts that
// open the path in the trial, or by what has died or was stopped, which the trial itself tells.
func (b *bench) mayRefuse(r run, sent uint64) (bool, error) {
	if r.spec.RunsScripts() || float64(sent)*survival(r.plan) < expectedProbes {
		return false, nil
	}
	if slices.ContainsFunc(r.plan.Nodes, func(n plan.Node) bool { return b.lab.Stopped(n.Name) }) {
		return false, nil
	}
	faults, err := b.lab.Faults()
	return len(faults) == 0, err
}

// survival is the share of packets that the links on the path neither lose nor damage.
func survival(p *plan.Plan) float64 {
	share := 1.0
	for _, l := range p.Links {
		for _, i := range l.Impairments {
			if p.Meets(l, i.From) {
				share *= (1 - i.Loss) * (1 - i.Corrupt)
			}
		}
	}
	return share
}

// follow finds out where the probes end of a path that lets nothing through.
func (b *bench) follow(ctx context.Context, r run, sent uint64, waited time.Duration) (*blockedPath, error) {
	seen := way.Seen(r.plan, nil)
	seen.Unseen = "no probe came"
	seen.AwaitedNs = int64(waited)
	var last uint64
	seen.Ended, seen.Nodes, last = b.whereEnded(ctx, r)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	reason := fmt.Sprintf("refused, not measured: none of %d probes passed in %v: %s", sent+last, waited.Round(time.Millisecond), endedWords(seen.Ended))
	if hops := way.Hops(r.plan, seen.Nodes); hops != "" {
		reason += fmt.Sprintf("; of the last %d, %s", last, hops)
	}
	return &blockedPath{seen, reason + "; traffic: {path_timeout: 0s} measures all the same"}, nil
}

// refuse is the record of a trial that was not measured, as nothing passes.
func (b *bench) refuse(r run, repeat int, path *blockedPath, notes []string) (result.Record, error) {
	rec := b.unmeasured(r, repeat, "generate+sink")
	rec.Trial.Verdict, rec.Trial.Refused = result.Invalid, true
	rec.Trial.Reasons, rec.Trial.SeenPath = []string{path.reason}, path.seen
	rec.Details.StartedUnixNs, rec.Details.FrameBytes, rec.Details.IntendedPPS = time.Now().UnixNano(), r.stream.FrameBytes, r.stream.PacketsPerSecond()
	rec.Details.Notes = notes
	var err error
	rec.ServicesLog, err = b.services.Take(b.lab.Lab)
	return rec, err
}

// unmeasured is a record without packets.
func (b *bench) unmeasured(r run, repeat int, role string) result.Record {
	rec := result.Record{
		Trial:      result.Trial{Variables: r.variables, Repeat: repeat, Verdict: result.Unmeasured},
		Details:    result.Details{Role: role, Isolation: b.isolation, Images: b.images, Tuning: b.tuning},
		Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
	}
	for _, setting := range b.lab.Settings() {
		rec.Details.Devices = append(rec.Details.Devices, result.Device(setting))
	}
	return rec
}

// refusal is a trial that was refused, for a search that needs it.
type refusal struct{ trial result.Trial }

func (r *refusal) Error() string { return r.trial.Reasons[0] }

// skipRefused goes on after a search that needed a trial that was refused; its combination is one that was not measured.
func (b *bench) skipRefused(writer *result.Writer, r run, err error) error {
	refused := (*refusal)(nil)
	if !errors.As(err, &refused) {
		return err
	}
	b.refuses(refused.trial)
	skip := result.Skipped{Variables: r.variables, Reason: refused.Error()}
	if err := writer.Skip(skip); err != nil {
		return err
	}
	b.watch.Skipped(skip)
	return nil
}

// RefusedError means that nothing passed where trials were to be measured; all others were.
type RefusedError struct {
	// Trials is how many were refused, and Reasons where their packets ended, and why, each once.
	Trials  int
	Reasons []string
}

func (e *RefusedError) Error() string {
	trials := "1 trial was"
	if e.Trials > 1 {
		trials = fmt.Sprintf("%d trials were", e.Trials)
	}
	return trials + " refused, as no packet passes:\n  " + strings.Join(e.Reasons, "\n  ")
}

// ExitCode is that of a file that is wrong.
func (e *RefusedError) ExitCode() int { return exit.Wrong }

// refuses takes note of a trial that was refused.
func (b *bench) refuses(t result.Trial) {
	b.refused.Trials++
	why := endedWords(t.SeenPath.Ends())
	if !slices.ContainsFunc(b.refused.Reasons, func(other string) bool { return withoutNumbers(other) == withoutNumbers(why) }) {
		b.refused.Reasons = append(b.refused.Reasons, why)
	}
}

// withoutNumbers is a text that does not differ by how many packets it tells of.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}

// refusedError is nil if none was.
func (b *bench) refusedError() error {
	if b.refused.Trials == 0 {
		return nil
	}
	return &b.refused
}

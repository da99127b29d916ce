package main

import (
	"io"
	"time"

	"nines.dev/nines/measure"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// view shows a measurement in progress: a report.Live to people, a report.Events to programs.
type view interface {
	Say(format string, args ...any)
	Status(format string, args ...any)
	Baseline()
	Begin(variables map[string]any, repeat int)
	Progress(report.Progress)
	Looked(result.Duet)
	Trial(result.Trial)
	Window(result.Trial)
	Searching(report.SearchProgress)
	Found(result.Search)
	Skipped(result.Skipped)
	Lost(variables map[string]any, repeat int, reason string)
	Close()
}

// progressOf is where a call tells of its progress: nowhere if it is to be quiet, and as lines of JSON if its result is JSON.
func (r runCall) progressOf(stderr io.Writer) io.Writer {
	if _, is := stderr.(*report.Events); is {
		return stderr
	}
	switch {
	case r.quiet:
		return io.Discard
	case r.format == "json":
		return report.NewEvents(stderr)
	}
	return stderr
}

// viewOf is a view on what progressOf returned.
func viewOf(out io.Writer, options report.LiveOptions) view {
	if events, is := out.(*report.Events); is {
		return events
	}
	return report.NewLive(out, options)
}

// liveWatcher shows a measurement while it runs.
type liveWatcher struct {
	live  view
	lasts time.Duration // the running trial
}

func (w *liveWatcher) Doing(what string) { w.live.Status("%s", what) }

func (w *liveWatcher) Noted(note string) { w.live.Say("%s", note) }

func (w *liveWatcher) Baseline(variables map[string]any) {
	w.lasts = 0
	w.live.Baseline()
}

func (w *liveWatcher) Trial(variables map[string]any, repeat int, lasts time.Duration) {
	w.lasts = lasts
	w.live.Begin(variables, repeat)
}

func (w *liveWatcher) Maximum(variables map[string]any, lasts time.Duration) {
	w.live.Status("the maximum: %s", report.Describe(variables))
}

func (w *liveWatcher) Searching(s measure.SearchState) {
	w.lasts = s.Lasts
	w.live.Searching(report.SearchProgress{
		Variables: s.Variables, Method: s.Method, Trials: s.Trials, Purpose: s.Purpose,
		RatePPS: s.RatePPS, Lasts: s.Lasts, LosslessPPS: s.LosslessPPS, LossyPPS: s.LossyPPS,
	})
}

func (w *liveWatcher) Window(trial result.Trial) { w.live.Window(trial) }

func (w *liveWatcher) Found(search result.Search) { w.live.Found(search) }

func (w *liveWatcher) Skipped(skipped result.Skipped) { w.live.Skipped(skipped) }

func (w *liveWatcher) Progress(now measure.Progress) {
	p := report.Progress{Done: now.Done, Of: w.lasts, Sent: now.Sent, Received: now.Received, RatePPS: now.RatePPS}
	for _, side := range now.Latency {
		p.Latency = append(p.Latency, report.SoFar{P50: side.P50, P99: side.P99})
	}
	w.live.Progress(p)
}

func (w *liveWatcher) Looked(so result.Duet) { w.live.Looked(so) }

func (w *liveWatcher) Measured(trial result.Trial) { w.live.Trial(trial) }

func (w *liveWatcher) Died(death measure.Death) {
	if death.Fate == measure.Again {
		w.live.Say("%s; once more", death.Reason)
		return
	}
	w.live.Lost(death.Variables, death.Repeat, death.Reason)
}

package traffic

import (
	"errors"
	"time"

	"nines.dev/nines/engine/client"
)

// Looks are looks at the packets of a duet while it runs. Traffic pauses for each: the look needs a CPU, and where there
// are few it is one under measurement.
type Looks struct {
	// AtNs are when to look, in nanoseconds of traffic, rising.
	AtNs []int64
	// Look gets the packets that were sent since the look before, in the order in which they were due, also the lost ones,
	// and how long there has been traffic. All times are without the pauses. The trial ends if it returns true; otherwise
	// Look is called once more at its end. It is called by one goroutine at a time.
	Look func(sent []client.Sent, trafficNs int64) (over bool)
}

// Look has looks made at the following trials; nil stops that.
func (g *Generator) Look(l *Looks) { g.looks = l }

// looking is the looks at one trial.
type looking struct {
	*Looks
	g          *Generator
	warmupNs   int64
	durationNs int64
	startNs    int64 // when the first measured packet is due, by this host's clock
	over       bool
	err        error
	done       chan struct{} // closed when no more looks are made; nil before the trial
	released   chan struct{} // closed when the trial is over
}

// looksAt is the looks at a trial; nil if none are asked for.
func (g *Generator) looksAt(trial client.Trial) *looking {
	if g.looks == nil || g.arrivals == nil {
		return nil
	}
	return &looking{Looks: g.looks, g: g, warmupNs: trial.WarmupNs, durationNs: trial.DurationNs, released: make(chan struct{})}
}

// during makes the looks while run runs the trial.
func (l *looking) during(run func() (Outcome, error)) (Outcome, error) {
	begun := l.g.begun
	l.g.begun = func(startNs int64) {
		if begun != nil {
			begun(startNs)
		}
		l.begin(startNs + l.warmupNs)
	}
	defer func() { l.g.begun = begun }()
	outcome, err := run()
	close(l.released)
	if l.done != nil {
		<-l.done
	}
	if err = errors.Join(err, l.err); err == nil && l.done != nil && !l.over {
		l.take(l.trafficNs(outcome.Rx))
	}
	return outcome, err
}

// trafficNs is how long there was traffic in a trial that has ended.
func (l *looking) trafficNs(rx client.TrialResult) int64 {
	switch {
	case rx.Interrupted:
		return max(rx.EndNs-rx.MeasuredStartNs-l.g.arrivals.PausedNs(), 0)
	case rx.StoppedNs > 0:
		return rx.StoppedNs
	}
	return l.durationNs
}

// begin begins with the trial.
func (l *looking) begin(startNs int64) {
	if l.err = l.g.arrivals.Begin(); l.err != nil {
		return
	}
	l.startNs, l.done = startNs, make(chan struct{})
	l.g.trafficBegan = startNs
	go func() {
		defer close(l.done)
		for _, at := range l.AtNs {
			if l.over || !l.pause(at) {
				return
			}
			l.over = l.take(at)
			l.goOn()
		}
	}()
}

// pause does so at a time of traffic; false if the trial has ended.
func (l *looking) pause(trafficNs int64) bool {
	for {
		now, err := monotonicNs()
		if err != nil {
			l.err = err
			return false
		}
		left := l.startNs + trafficNs + l.g.arrivals.PausedNs() - now
		if left <= 0 {
			break
		}
		select {
		case <-l.released:
			return false
		case <-time.After(time.Duration(left)):
		}
	}
	for _, p := range l.g.processes() {
		if err := p.Pause(); err != nil {
			return false // the trial tells of that
		}
	}
	return l.await(client.TrialPaused)
}

// goOn ends a pause, or the trial.
func (l *looking) goOn() {
	order := (*client.Client).Resume
	if l.over {
		order = (*client.Client).Finish
	}
	for _, p := range l.g.processes() {
		if order(p.Client) != nil {
			return
		}
	}
	l.await(client.TrialRunning)
}

// await waits for a state of the trial; false if the trial has ended.
func (l *looking) await(state client.ArrivalsState) bool {
	for {
		switch l.g.arrivals.State() {
		case state:
			return true
		case client.TrialEnded:
			return false
		}
		select {
		case <-l.released:
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// take looks at the packets since the last look.
func (l *looking) take(trafficNs int64) (over bool) {
	paused := l.g.arrivals.PausedNs()
	sent := l.g.arrivals.Take()
	for i := range sent {
		sent[i].DueNs -= paused
		if sent[i].ReceivedNs != client.NotReceived {
			sent[i].ReceivedNs -= paused
		}
	}
	return l.Look(sent, trafficNs)
}

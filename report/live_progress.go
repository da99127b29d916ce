package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// liveLine is the interval between lines on a trial that runs, where nothing can be drawn over.
const liveLine = 10 * time.Second

// longTrial is from when on the line has the trial's own time beside that of all: a terminal may have 80 columns.
const longTrial = 10 * time.Second

// Progress is how a trial goes.
type Progress struct {
	// Done and Of are how long it has sent packets, and will; 0 if unknown.
	Done, Of time.Duration
	// Sent and Received are packets so far; those on their way count as sent.
	Sent, Received uint64
	// RatePPS is how many packets came in the last second.
	RatePPS float64
	// Latency is that of packets so far, in ns: of a duet for each side, and none where it is not known.
	Latency []SoFar
}

// SoFar are percentiles in ns; nil where the packets are too few.
type SoFar struct {
	P50 *int64 `json:"p50"`
	P99 *int64 `json:"p99"`
}

// String is "9,998 pps, no loss, p50 5.14, p99 31.2 µs"; of a duet "p50 5.14 and 6.84, p99 31.2 and 30.1 µs".
func (p Progress) String() string {
	if p.Sent == 0 {
		return ""
	}
	parts := []string{terminal.Grouped(p.RatePPS) + " pps", p.loss()}
	if len(p.Latency) > 0 {
		var p50, p99 []string
		for _, side := range p.Latency {
			p50, p99 = append(p50, nsText(side.P50)), append(p99, nsText(side.P99))
		}
		parts = append(parts, "p50 "+strings.Join(p50, " and "), "p99 "+strings.Join(p99, " and ")+" µs")
	}
	return strings.Join(parts, ", ")
}

// underWay is for how long packets may be on their way, at least: a program that a busy host keeps from its CPU lets
// them wait, and the trial that runs cannot tell them from lost ones.
const underWay = 500 * time.Millisecond

// loss is that so far. What may be on its way leaves a bound.
func (p Progress) loss() string {
	if p.Received >= p.Sent {
		return "no loss"
	}
	lost := float64(p.Sent - p.Received)
	percent := 100 * lost / float64(p.Sent)
	if lost <= math.Max(1, p.mayBeUnderWay()) {
		return "loss < " + terminal.Digits(math.Ceil(percent*1000)/1000, 1) + " %"
	}
	return "loss " + terminal.Significant(percent) + " %"
}

// mayBeUnderWay is how many packets. Those that wait longest have not come yet, so twice the p99 of those that have.
func (p Progress) mayBeUnderWay() float64 {
	if p.Done <= 0 {
		return float64(p.Sent)
	}
	longest := underWay
	for _, side := range p.Latency {
		if side.P99 != nil {
			longest = max(longest, 2*time.Duration(*side.P99))
		}
	}
	return float64(p.Sent) / p.Done.Seconds() * longest.Seconds()
}

// Progress says how far the running trial is.
func (l *Live) Progress(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress(p)
	if now := l.options.Now(); !l.style.Terminal && !l.searching && p.Done > 0 && now.Sub(l.spoke()) >= liveLine {
		l.said = now
		l.say("%s", l.course(p))
	}
}

// spoke is when there last was a line.
func (l *Live) spoke() time.Time {
	if l.said.After(l.ended) {
		return l.said
	}
	return l.ended
}

func (l *Live) progress(p Progress) {
	l.status("%s", l.course(p))
}

// course is the line of a trial that runs.
func (l *Live) course(p Progress) string {
	if l.alone {
		return strings.TrimSpace(baselineText + "  " + p.String())
	}
	parts := []string{l.number(l.done + 1)}
	times := ""
	left, known := l.left()
	known = known && !l.searching && l.options.Total > 1 // of a single trial its own time is what is left
	if p.Of >= longTrial || p.Of > 0 && !known {
		times = fmt.Sprintf("%s of %s", terminal.Span(min(p.Done, p.Of)), terminal.Span(p.Of))
	}
	if known {
		times += fmt.Sprintf(", %s left", terminal.Span(left))
	}
	for _, part := range []string{l.running, strings.TrimPrefix(times, ", "), l.looked, p.String(), l.verdicts()} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// baselineText is what runs before and after all trials.
const baselineText = "baseline of the generator alone"

// Baseline says that a baseline begins.
func (l *Live) Baseline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone = true
	l.progress(Progress{})
}

// verdicts counts those of the trials so far: "so far 2 clean, 4 noisy".
func (l *Live) verdicts() string {
	var parts []string
	for _, verdict := range result.Verdicts() {
		if n := l.judged[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "so far " + strings.Join(parts, ", ")
}

// Looked shows what a duet has decided so far of what was asked: in the running line, and where there is none in a line
// whenever something more is decided.
func (l *Live) Looked(d result.Duet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts, decided := make([]string, len(d.Comparisons)), 0
	for i, c := range d.Comparisons {
		texts[i] = lookedText(&d, c)
		if c.Decision != result.Undecided {
			decided++
		}
	}
	l.looked = strings.Join(texts, "; ")
	if now := l.options.Now(); !l.style.Terminal && (decided != l.decided || now.Sub(l.spoke()) >= liveLine) {
		l.said = now
		l.say("after %s of traffic: %s", terminal.Duration(d.TrafficNs), l.looked)
	}
	l.decided = decided
}

// lookedText is "p50: veth is 1.70 µs faster", or how far it is from that.
func lookedText(d *result.Duet, c result.DuetComparison) string {
	if c.Decision != result.Undecided {
		text := decisionText(d, c)
		if c.Decision != result.Same && c.Difference != nil {
			text += " by " + terminal.Significant(math.Abs(c.Difference.Value)*scaleOf(c)) + unitOf(c)
		}
		return terminal.Plain(c.Quantity) + ": " + text
	}
	text := terminal.Plain(c.Quantity) + ": open"
	if c.Difference != nil {
		text += ", " + boundedText(c.Difference, c.Quantity, true) + unitOf(c)
	}
	return text
}

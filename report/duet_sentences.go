package report

import (
	"fmt"
	"math"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// DuetSentences say what was decided of all that was asked, and of the rest what was decided, too: "veth is 0.8 µs (0.7 to
// 0.9) faster than bridge at p50: decided."
func DuetSentences(d *result.Duet) []string {
	if d == nil {
		return nil
	}
	if d.Open != "" {
		return []string{"not decided: " + d.Open + "."}
	}
	var list []string
	for _, c := range d.Comparisons {
		if c.Asked || c.Decision != result.Undecided {
			list = append(list, duetSentence(d, c))
		}
	}
	return list
}

func duetSentence(d *result.Duet, c result.DuetComparison) string {
	a, b := terminal.Plain(d.Sides[0].Label), terminal.Plain(d.Sides[1].Label)
	at := "at " + c.Quantity
	if c.Quantity == lossQuantity {
		at = "in loss"
	}
	switch c.Decision {
	case result.ALower, result.BLower:
		first, second := a, b
		if c.Decision == result.BLower {
			first, second = b, a
		}
		if c.Quantity == lossQuantity {
			return fmt.Sprintf("%s loses %s of the packets less than %s: decided.", first, sizeText(c), second)
		}
		return fmt.Sprintf("%s is %s faster than %s %s: decided%s.", first, sizeText(c), second, at, remaining(c))
	case result.Same:
		if c.Quantity == lossQuantity {
			return fmt.Sprintf("%s and %s lose the same share of packets: decided.", a, b)
		}
		return fmt.Sprintf("%s and %s are the same %s within %s: decided.", a, b, at, leastText(d.Least))
	}
	text := fmt.Sprintf("%s and %s %s: not decided", a, b, at)
	if c.Difference != nil {
		text += ", the difference (b − a) is from " + boundedText(c.Difference, c.Quantity, true) + unitOf(c)
	}
	if c.Why != "" {
		text += ", because " + c.Why
	}
	if c.NeedsNs > 0 {
		text += fmt.Sprintf("; it would take about %v of traffic", roughly(time.Duration(c.NeedsNs)))
	}
	return text + remaining(c) + "."
}

// remaining says what is left of the interruptions.
func remaining(c result.DuetComparison) string {
	if c.Remains == "" {
		return ""
	}
	return " (" + c.Remains + ", are in both)"
}

func unitOf(c result.DuetComparison) string {
	if c.Quantity == lossQuantity {
		return " %"
	}
	return " µs"
}

// scaleOf makes microseconds of nanoseconds, and percent of a share.
func scaleOf(c result.DuetComparison) float64 {
	if c.Quantity == lossQuantity {
		return 100
	}
	return 1e-3
}

// sizeText is the size of a difference with its interval, whichever side is lower.
func sizeText(c result.DuetComparison) string {
	if c.Difference == nil {
		return ""
	}
	size := *c.Difference
	if size.Value < 0 {
		size = result.Bounded{Value: -size.Value, Low: -size.High, High: -size.Low}
	}
	scale := scaleOf(c)
	return fmt.Sprintf("%s%s (%s to %s)", terminal.Significant(size.Value*scale), unitOf(c), terminal.Significant(size.Low*scale), terminal.Significant(size.High*scale))
}

func leastText(l result.DuetLeast) string {
	return fmt.Sprintf("%g %% or %v", math.Round(l.Share*1e6)/1e4, time.Duration(l.LatencyNs))
}

// roughly leaves two digits of a duration.
func roughly(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit)
}

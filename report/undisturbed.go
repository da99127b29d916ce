package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writeUndisturbed writes a line for each combination of variables: its p99 without the host's interruptions, or a lower
// percentile and why that is not known.
func writeUndisturbed(out *strings.Builder, s terminal.Style, groups []Group, trials []result.Trial) {
	lines := undisturbedLines(groups)
	var unknown classes
	for _, t := range trials {
		if why := notUndisturbed(t.Undisturbed); why != "" {
			unknown.add("", class{head: "undisturbed", colour: terminal.Bold, example: why, where: "trial " + t.ID})
		}
	}
	if len(lines)+len(unknown.list) > 0 {
		out.WriteString("\n")
	}
	for _, line := range lines {
		out.WriteString(terminal.Wrap(terminal.Plain(line), 0, 2, s.Columns) + "\n")
	}
	unknown.write(out, s, "trial", "reason", "summary.json has all")
}

// undisturbedLines are those of all groups, as far as they are known; of many groups, the first.
func undisturbedLines(groups []Group) []string {
	var lines []string
	for _, g := range groups {
		text := undisturbedText(g)
		switch {
		case text == "":
		case len(groups) > 1:
			lines = append(lines, Describe(g.Variables)+": "+text)
		default:
			lines = append(lines, text)
		}
	}
	if more := len(lines) - maxReasons; more > 0 {
		lines = append(lines[:maxReasons], fmt.Sprintf("and %s more; nines report --format json has all", terminal.Count(more, "combination")))
	}
	return lines
}

// undisturbedText tells the undisturbed p99 of a group, or the highest percentile below that some of its trials know, as
// the median of these; empty if none does.
func undisturbedText(g Group) string {
	var name string
	var known []result.Trial
	for _, name = range []string{"p99", "p90", "p50"} {
		for _, t := range g.Counted() {
			if t.Undisturbed.Percentile(name) != nil {
				known = append(known, t)
			}
		}
		if len(known) > 0 {
			break
		}
	}
	spread := boundedSpread(valuesOf(known, UndisturbedFigure(name)))
	if spread == nil {
		return ""
	}
	var shares, hold []float64
	for _, t := range known {
		shares, hold = append(shares, t.Undisturbed.Share), append(hold, t.Undisturbed.HoldTo)
	}
	text := fmt.Sprintf("undisturbed %s %s µs%s from %s of the packets", name, microseconds(spread.Median), undisturbedInterval(known, name, spread), share(result.Median(shares)))
	if of := len(g.Counted()); len(known) < of {
		text += fmt.Sprintf(" of %d of %s", len(known), terminal.Count(of, "trial"))
	}
	switch to := slices.Min(hold); {
	case to == 0:
		text += "; as measured not even p50 holds"
	case to == 50:
		text += "; as measured p50 holds"
	default:
		text += "; as measured p50 to " + percentileName(to) + " hold"
	}
	if farthest := farthestUndisturbed(known); farthest > slices.Min(hold) {
		text += ", undisturbed to " + percentileName(farthest)
	}
	return text
}

// undisturbedInterval is that of the median of several repeats, or of the only trial.
func undisturbedInterval(known []result.Trial, name string, spread *Spread) string {
	if i := spread.Interval; i != nil {
		return fmt.Sprintf(" (%s to %s)", microseconds(i.Low), microseconds(i.High))
	}
	p := known[0].Undisturbed.Percentile(name)
	switch {
	case len(known) > 1 || p.LowNs == nil:
		return ""
	case p.HighNs == nil:
		return fmt.Sprintf(" (%s, open)", microseconds(float64(*p.LowNs)))
	}
	return fmt.Sprintf(" (%s to %s)", microseconds(float64(*p.LowNs)), microseconds(float64(*p.HighNs)))
}

// farthestUndisturbed is the highest percentile that all trials know.
func farthestUndisturbed(trials []result.Trial) float64 {
	farthest := 0.0
	for _, named := range result.NamedPercentiles() {
		if slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Undisturbed.Percentile(named.Name) == nil }) {
			break
		}
		farthest = math.Round(1e6*named.P) / 1e4
	}
	return farthest
}

func percentileName(percentile float64) string {
	return "p" + strconv.FormatFloat(percentile, 'f', -1, 64)
}

// share is rounded down: 100 % is all.
func share(of float64) string {
	if percent := 100 * of; percent > 99 && percent < 100 {
		return fmt.Sprintf("%.1f %%", math.Floor(10*percent)/10)
	}
	return fmt.Sprintf("%.0f %%", math.Floor(100*of))
}

// notUndisturbed says why a trial does not tell its undisturbed p99, or what it takes for granted.
func notUndisturbed(u *result.Undisturbed) string {
	switch {
	case u == nil:
		return ""
	case u.Refused != "":
		return "not known: " + u.Refused
	}
	for _, p := range u.Percentiles {
		if p.Name == "p99" && p.Open != "" {
			return "p99 is not known: " + p.Open
		}
	}
	if len(u.Assumed) > 0 {
		return "assumed: " + strings.Join(u.Assumed, "; ")
	}
	return ""
}

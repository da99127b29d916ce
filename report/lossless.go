package report

import (
	"cmp"
	"fmt"
	"slices"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// rateVariable is the one that lossless looks along.
const rateVariable = "traffic.rate_pps"

// lossless says up to which rate no packet was lost, where nothing but the rate was varied and each was measured more than
// once; else it is empty.
func lossless(trials []result.Trial) string {
	if names := result.VariableNames(trials); len(names) != 1 || names[0] != rateVariable || !isNumeric(trials, rateVariable) {
		return ""
	}
	rate := func(g Group) float64 { value, _ := g.Variables[rateVariable].(float64); return value }
	groups := Groups(trials)
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(rate(a), rate(b)) })
	if len(groups) < 2 {
		return ""
	}
	text, fewest := "", len(trials)
	for _, g := range groups {
		fewest = min(fewest, len(g.Trials))
		why := spoiltBy(g)
		switch {
		case fewest < 2 || rate(g) <= 0: // as fast as possible is no rate
			return ""
		case why == "":
			text = "no packet was lost up to " + terminal.Grouped(rate(g)) + " packets/s"
		case text == "":
			return fmt.Sprintf("at %s packets/s, the lowest rate, %s.", terminal.Grouped(rate(g)), why)
		default:
			return fmt.Sprintf("%s; at %s packets/s %s.", text, terminal.Grouped(rate(g)), why)
		}
	}
	return text + ", the highest rate."
}

// spoiltBy says which packets of a group's valid trials were lost, or that none is valid; empty if no packet was.
func spoiltBy(g Group) string {
	if g.Invalid() {
		return "all trials are invalid"
	}
	lost := 0
	for _, t := range g.Counted() {
		if t.LostPackets > 0 {
			lost++
		}
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("packets were lost in %d of %s", lost, terminal.Count(len(g.Counted()), "valid trial"))
}

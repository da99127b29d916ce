package report

import (
	"fmt"
	"strings"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// How much an answer tells: it is read in a moment, and the tables have the rest.
const (
	mostAnswered = 4 // lines of one kind
	mostCompared = 4 // values of a variable in a sentence
)

// pageAnswer is what a result says, in sentences: what its trials decide, what searches found, or, where nothing can be
// ranked, the latencies by the swept variable; then what was lost, and what the host had a part in.
func pageAnswer(r *result.Result) []string {
	summary := r.Summary
	summary.Trials = r.Shown()
	if ofStretches(r, summary.Trials) {
		return stretchSentences(r, summary.Trials)
	}
	lines := foundSentences(r.Searches)
	if !ranks(summary) && len(r.Searches) == 0 {
		lines = latencySentences(Groups(summary.Trials))
	}
	lines = append(lines, Answer(summary)...)
	if len(r.Searches) == 0 { // a search loses packets deliberately
		if text := lossSentence(Groups(summary.Trials)); text != "" {
			lines = append(lines, text)
		}
	}
	return append(lines, verdictSentences(r.Summary.Trials)...)
}

// ofStretches reports whether the packets of a result are stretches in which a CPU or a thread did not run.
func ofStretches(r *result.Result, trials []result.Trial) bool {
	if len(trials) == 0 {
		return false
	}
	details, err := r.TrialFolder(trials[0].ID).Details()
	return err == nil && details.OfStretches()
}

// stretchSentences tell how much of its time each CPU or thread lost, and the longest stretch.
func stretchSentences(r *result.Result, trials []result.Trial) []string {
	var lines []string
	for _, t := range trials[:min(len(trials), 2*mostAnswered)] {
		details, err := r.TrialFolder(t.ID).Details()
		if err != nil || t.Latency.Mean == nil || t.Latency.Max == nil {
			continue
		}
		lost := time.Duration(*t.Latency.Mean * float64(t.RxPackets))
		lines = append(lines, fmt.Sprintf("%s: taken away for %v of %v, in %s gaps; the longest took %v.", whereText(t.Variables), roughly(lost),
			roughly(time.Duration(details.DurationNs)), terminal.Grouped(float64(t.RxPackets)), roughly(time.Duration(*t.Latency.Max))))
	}
	return lines
}

// foundSentences are the first findings of searches.
func foundSentences(searches []result.Search) []string {
	var lines []string
	for _, g := range SearchGroups(searches) {
		for _, f := range g.Findings {
			if f.Value == nil {
				continue
			}
			text := fmt.Sprintf("%s is %s %s", strings.TrimSpace(f.Name+" "+f.At), f.valueText(), findingUnit(f.Unit))
			if of := whereText(g.Variables); of != "" {
				text = of + ": " + text
			}
			lines = append(lines, strings.TrimSpace(text)+".")
		}
	}
	if more := len(lines) - mostAnswered; more > 0 {
		lines = append(lines[:mostAnswered], fmt.Sprintf("The searches found %d more.", more))
	}
	return lines
}

// lossSentence tells what was lost, and where most.
func lossSentence(groups []Group) string {
	var sent, lost, unsent uint64
	var worst *Group
	most := 0.0
	for i, g := range groups {
		for _, t := range g.Trials {
			sent, lost, unsent = sent+t.TxPackets, lost+t.LostPackets, unsent+t.UnsentPackets
		}
		if s := spreadOf(g.Values(figure("loss_ratio", "", "", 100))); s != nil && s.Median > most {
			most, worst = s.Median, &groups[i]
		}
	}
	var text string
	switch {
	case sent == 0:
		return ""
	case lost == 0:
		text = "No packet was lost"
	default:
		text = fmt.Sprintf("%s of %s packets were lost", terminal.Grouped(float64(lost)), terminal.Grouped(float64(sent)))
		if worst != nil && len(groups) > 1 {
			text += fmt.Sprintf(", most at %s: %s %%", whereText(worst.Variables), terminal.Significant(100*most))
		}
	}
	if unsent > 0 {
		text += fmt.Sprintf("; %s were due and not sent", terminal.Grouped(float64(unsent)))
	}
	return text + "."
}

// verdictSentences say what of the trials is no measurement, or has a part of the host in it.
func verdictSentences(trials []result.Trial) []string {
	counts := Group{Trials: trials}.Verdicts()
	var lines []string
	if n := counts[result.Invalid]; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s did not do what was asked and count in no median, unless a combination has no others.", n, terminal.Count(len(trials), "trial")))
	}
	if n := counts[result.Noisy]; n > 0 {
		lines = append(lines, fmt.Sprintf("%d of %s %s noisy: the verdicts say what disturbed them, and which tails it touches.", n, terminal.Count(len(trials), "trial"), isAre(n)))
	}
	return lines
}

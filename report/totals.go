package report

import (
	"fmt"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Totals are the counts of a whole result. Everything that counts trials or packets of one takes them from here: the
// table's head, its JSON and the page.
type Totals struct {
	// Trials are all of them, and Shown those that can be compared: the trials that lead a search to its result
	// have various rates.
	Trials   int                    `json:"trials"`
	Shown    int                    `json:"shown"`
	Verdicts map[result.Verdict]int `json:"verdicts"`
	// Received and Lost are of the packets that were sent; Unsent were due, and not sent.
	Received uint64 `json:"rx_packets"`
	Lost     uint64 `json:"lost_packets"`
	Unsent   uint64 `json:"unsent_packets"`
}

// TotalsOf counts all trials of a result.
func TotalsOf(trials []result.Trial, searches []result.Search) Totals {
	t := Totals{Trials: len(trials), Shown: len(result.Shown(trials, searches)), Verdicts: Group{Trials: trials}.Verdicts()}
	for _, trial := range trials {
		t.Received += trial.RxPackets
		t.Lost += trial.LostPackets
		t.Unsent += trial.UnsentPackets
	}
	return t
}

// trials is "22 trials", or "4 of 22 trials" where not all are shown.
func (t Totals) trials() string {
	if t.Shown == t.Trials {
		return terminal.Count(t.Trials, "trial")
	}
	return fmt.Sprintf("%d of %s", t.Shown, terminal.Count(t.Trials, "trial"))
}

// packets is "1,000 packets received, 3 lost, 12 due and not sent".
func (t Totals) packets() string {
	text := fmt.Sprintf("%s packets received, %s lost", terminal.Grouped(float64(t.Received)), terminal.Grouped(float64(t.Lost)))
	if t.Unsent > 0 {
		text += fmt.Sprintf(", %s due and not sent", terminal.Grouped(float64(t.Unsent)))
	}
	return text
}

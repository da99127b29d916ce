package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// packetTrials is the most lines in the table of single packets.
const packetTrials = 20

// WritePackets writes the main per-packet metrics of trials with recorded or captured packets, in
// microseconds; metrics.json has the rest. It reports incomplete recordings, and writes nothing if
// there are none.
func WritePackets(w io.Writer, r *result.Result) error {
	s := terminal.StyleOf(w)
	t := packetTable()
	var lines []string
	left := 0
	all, unread := Packets(r)
	for _, err := range unread {
		lines = append(lines, err.Error())
	}
	for _, trial := range all {
		for _, problem := range trial.Problems {
			lines = append(lines, fmt.Sprintf("trial %s: %s", trial.Trial, problem))
		}
		switch {
		case trial.Metrics == nil:
		case t.Len() == packetTrials:
			left++
		default:
			t.Row(packetCells(trial.Trial, trial.Metrics.All)...)
		}
	}
	var out strings.Builder
	if t.Len() > 0 {
		out.WriteString("\n" + s.Paint(terminal.Bold, "every packet") + "\n\n")
		_ = t.Write(&out, s) // cannot fail
	}
	if left > 0 {
		out.WriteString(fmt.Sprintf("and %s more\n", terminal.Count(left, "trial")))
	}
	for _, line := range lines[:min(len(lines), packetTrials)] {
		out.WriteString("\n" + terminal.Wrap(terminal.Plain(line), 0, 0, s.Columns) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// packetsOf reads a trial's per-packet data.
func packetsOf(f result.Folder) (*result.Metrics, []string, error) {
	details, err := f.Details()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // the page and the table report what is missing
	}
	if err != nil {
		return nil, nil, err
	}
	var problems []string
	if details.Recording != nil {
		problems = details.Recording.Problems
	}
	metrics, err := f.Metrics()
	return metrics, problems, err
}

// TrialPackets has the per-packet metrics of a trial with recorded or captured packets. Metrics are
// nil if the record is incomplete; Problems say why.
type TrialPackets struct {
	Trial    string          `json:"trial"`
	Metrics  *result.Metrics `json:"metrics"`
	Problems []string        `json:"problems,omitempty"`
}

// Packets reads the metrics of all trials with a packet record, and returns which could not be
// read.
func Packets(r *result.Result) (all []TrialPackets, problems []error) {
	for _, trial := range r.Shown() {
		metrics, lacks, err := packetsOf(r.TrialFolder(trial.ID))
		if err != nil {
			problems = append(problems, err)
		}
		if metrics != nil || len(lacks) > 0 {
			all = append(all, TrialPackets{trial.ID, metrics, lacks})
		}
	}
	return all, problems
}

// pagePackets is a trial's on the page, limited to a readable number of flows.
type pagePackets struct {
	TrialPackets
	// FlowsAll is the number of flows in the file.
	FlowsAll int `json:"flows_all"`
}

func (p *pageData) addPackets(r *result.Result) {
	p.Packets = []pagePackets{}
	packets, problems := Packets(r)
	for _, err := range problems {
		p.problem(err)
	}
	for _, trial := range packets {
		shown := pagePackets{TrialPackets: trial}
		if m := trial.Metrics; m != nil && len(m.Flows) > 0 {
			shown.FlowsAll = len(m.Flows)
			cut := *m
			cut.Flows = m.Flows[:min(len(m.Flows), maxTrialFlows)]
			shown.Metrics = &cut
		}
		p.Packets = append(p.Packets, shown)
	}
}

func packetTable() *terminal.Table {
	t := &terminal.Table{}
	t.Words("trial")
	t.Numbers("lost", "")
	t.Numbers("longest run", "")
	t.Numbers("duplicates", "")
	t.Numbers("reordered", "")
	t.Numbers("extent", "")
	t.Numbers("PDV p99", "µs")
	t.Numbers("PDV p99.9", "µs")
	t.Numbers("IPDV p99", "µs")
	return t
}

func packetCells(id string, m result.FlowMetrics) []any {
	var longest uint64
	for _, run := range m.LossRuns {
		longest = max(longest, run.Length)
	}
	cells := []any{terminal.Plain(id)}
	for _, n := range []uint64{m.Lost, longest, m.Duplicates, m.Reordering.Reordered, m.Reordering.ExtentMax} {
		cells = append(cells, terminal.Grouped(float64(n)))
	}
	for _, ns := range []*int64{m.PDV.P99, m.PDV.P999, m.IPDV.P99} {
		if ns == nil {
			cells = append(cells, terminal.None)
			continue
		}
		cells = append(cells, terminal.Significant(float64(*ns)/1000))
	}
	return cells
}

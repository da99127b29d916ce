package doctor

import (
	"cmp"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Finding is one thing on a host that costs latency, or that an experiment cannot do
// without.
type Finding struct {
	// ID names the kind of finding, for programs: "idle-states".
	ID string `json:"id"`
	// Subject is the part of the host: power, clock, memory, …
	Subject string `json:"subject"`
	// Severity is error for what keeps the experiment from running as it is written,
	// warning for what may cost 10 µs or more, touches every packet or makes figures
	// untrue, and note for what costs less or only at times that Cost.When names.
	Severity host.Severity `json:"severity"`
	// Title says it in one line.
	Title string `json:"title"`
	// Evidence is what was read, and where.
	Evidence []Evidence `json:"evidence"`
	// Why says how it delays packets.
	Why string `json:"why"`
	// Cost is nil where nothing is delayed, but something does not work.
	Cost *Cost `json:"cost,omitempty"`
	// Remedies are ways out; the first is the best.
	Remedies []Remedy `json:"remedies"`
	// CPUs are those of the chosen ones that it is about; empty for all.
	CPUs []int `json:"cpus,omitempty"`
	// Runs are those of the experiment that it is about, from 1; empty for all.
	Runs []int `json:"runs,omitempty"`
	// Source is where the advice comes from.
	Source string `json:"source"`

	// missing is host.Finding's.
	missing int64
}

// Evidence is one thing that was read.
type Evidence struct {
	Where string `json:"where"` // a file, a parameter, a process
	What  string `json:"what"`
}

// Basis is how a cost is known.
type Basis string

// The ways to know a cost.
const (
	BasisHost      Basis = "host"      // the host's own table says it
	BasisPublished Basis = "published" // somebody measured it, and Source says who
	BasisComputed  Basis = "computed"  // from constants that Source names
	BasisEstimate  Basis = "estimate"  // an order of magnitude, of which Source gives the reason
)

// Cost is how much later a packet comes that meets a finding.
type Cost struct {
	FromUS float64 `json:"from_us"`
	ToUS   float64 `json:"to_us"`
	// When says how often, or on what occasion.
	When   string `json:"when"`
	Basis  Basis  `json:"basis"`
	Source string `json:"source"`
}

// Remedy is one way out.
type Remedy struct {
	// Text says what it does, and what it takes away.
	Text string `json:"text"`
	// Commands can be pasted into root's shell.
	Commands []string `json:"commands,omitempty"`
	// Reboot is true if the machine has to be started again for it.
	Reboot bool `json:"reboot,omitempty"`
}

// severities are in the order of what matters.
var severities = []host.Severity{host.SeverityError, host.SeverityWarning, host.SeverityNote}

// rank puts findings into the order of how much they matter: by severity, and by what
// they may cost.
func rank(list []Finding) {
	worst := func(f Finding) float64 {
		if f.Cost == nil {
			return 0
		}
		return f.Cost.ToUS
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(worst(b), worst(a)),
			strings.Compare(a.ID, b.ID),
		)
	})
}

// Brief gives a finding as plans list it, in one line.
func (f Finding) Brief() host.Finding {
	brief := host.Finding{Severity: f.Severity, Capability: f.ID, Problem: f.Title}
	if f.Cost != nil {
		brief.Problem += ", which may cost " + f.Cost.span()
	}
	if len(f.Remedies) > 0 {
		brief.Remedy = f.Remedies[0].Text
		if commands := f.Remedies[0].Commands; len(commands) == 1 {
			brief.Remedy += ": " + commands[0]
		}
	}
	return brief
}

// span words a cost without its occasion: "1.8 to 8.8 µs".
func (c Cost) span() string {
	if c.FromUS == c.ToUS {
		return microseconds(c.ToUS)
	}
	from, fromUnit, _ := strings.Cut(microseconds(c.FromUS), " ")
	to, toUnit, _ := strings.Cut(microseconds(c.ToUS), " ")
	if fromUnit == toUnit {
		return from + " to " + to + " " + toUnit
	}
	return from + " " + fromUnit + " to " + to + " " + toUnit
}

// microseconds words a time with the two digits that count.
func microseconds(us float64) string {
	if us >= 999.5 {
		return terminal.Digits(us/1000, 2) + " ms"
	}
	return terminal.Digits(us, 2) + " µs"
}

package doctor

import (
	"cmp"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Finding is one thing on a host that costs latency, or that an experiment needs and the
// host lacks.
type Finding struct {
	// ID names the kind of finding, for programs: "idle-states".
	ID string `json:"id"`
	// Subject is the part of the host: power, clock, memory, …
	Subject string `json:"subject"`
	// Severity is error for what keeps the experiment from running as written; warning
	// for what may cost 10 µs or more, affects every packet or makes results wrong; and
	// note for what costs less, or only at times that Cost.When names.
	Severity host.Severity `json:"severity"`
	// Title is the finding in one line.
	Title string `json:"title"`
	// Evidence is what was read, and where.
	Evidence []Evidence `json:"evidence"`
	// Why says how it delays packets.
	Why string `json:"why"`
	// Cost is nil where nothing is delayed but something does not work.
	Cost *Cost `json:"cost,omitempty"`
	// Remedies are the possible fixes; the first is the best.
	Remedies []Remedy `json:"remedies"`
	// CPUs are the affected ones of the chosen CPUs; empty for all.
	CPUs []int `json:"cpus,omitempty"`
	// Runs are the affected runs of the experiment, from 1; empty for all.
	Runs []int `json:"runs,omitempty"`
	// Source is where the advice comes from.
	Source string `json:"source"`

	// missing is host.Finding.Missing.
	missing int64
}

// Evidence is one value that was read.
type Evidence struct {
	Where string `json:"where"` // a file, a parameter, a process
	What  string `json:"what"`
}

// Basis says how a cost is known.
type Basis string

// The bases of a cost.
const (
	BasisHost      Basis = "host"      // a table of the host itself
	BasisPublished Basis = "published" // a measurement by others, which Source names
	BasisComputed  Basis = "computed"  // from constants that Source names
	BasisEstimate  Basis = "estimate"  // an order of magnitude, for which Source gives the reason
)

// Cost is the delay of a packet that is affected by a finding.
type Cost struct {
	FromUS float64 `json:"from_us"`
	ToUS   float64 `json:"to_us"`
	// When says how often, or on what occasion.
	When   string `json:"when"`
	Basis  Basis  `json:"basis"`
	Source string `json:"source"`
}

// Remedy is one possible fix.
type Remedy struct {
	// Text says what it does, and what is lost by it.
	Text string `json:"text"`
	// Commands can be pasted into a root shell.
	Commands []string `json:"commands,omitempty"`
	// Reboot is true if it needs a reboot.
	Reboot bool `json:"reboot,omitempty"`
}

// severities lists the most serious first.
var severities = []host.Severity{host.SeverityError, host.SeverityWarning, host.SeverityNote}

// rank sorts findings by severity, then by what they may cost.
func rank(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(b.worst(), a.worst()),
			strings.Compare(a.ID, b.ID),
		)
	})
}

// worst is the most that a finding may cost, in µs.
func (f Finding) worst() float64 {
	if f.Cost == nil {
		return 0
	}
	return f.Cost.ToUS
}

// Brief returns a finding in the one-line form that plans list.
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

// span formats a cost without its occasion: "1.8 to 8.8 µs".
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

// microseconds formats a time with two significant digits.
func microseconds(us float64) string {
	if us >= 999.5 {
		return terminal.Digits(us/1000, 2) + " ms"
	}
	return terminal.Digits(us, 2) + " µs"
}

package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// needKinds is what keeps an experiment from running.
var needKinds = []findingKind{
	{"needs-…", "the host lacks what the experiment needs", "it does not run; `nines plan` says the same"},
}

// JudgeFile judges a host for all runs of an experiment, and returns the worst instance of
// each finding. It returns an error for a file that contradicts itself; what the host lacks
// for a run is a finding.
func JudgeFile(inv *host.Inventory, runs []spec.Run) (*Report, error) {
	r := newReport(inv)
	all := &merged{byID: map[string]*Finding{}, runs: map[string][]int{}, handled: map[Handled]bool{}}
	known := map[string]judged{} // by the scope as text: most runs of a sweep share one
	cpus := []int{}
	for at, run := range plan.WaitTogether(runs, inv) {
		exp := run.Experiment
		all.add(at+1, needs(inv, exp))
		p, err := plan.Make(exp, inv)
		if err != nil {
			if conflict := new(plan.Conflict); errors.As(err, &conflict) {
				return nil, fmt.Errorf("run %d: %w", at+1, run.Located(err))
			}
			for _, refused := range plan.Each(err) {
				all.add(at+1, []Finding{unplanned(refused)})
			}
			continue
		}
		for _, lacking := range p.Lacking(inv) {
			all.add(at+1, []Finding{need(lacking)})
		}
		scope := ScopeOf(inv, exp, p)
		key := fmt.Sprint(scope)
		one, seen := known[key]
		if !seen {
			one = examineFor(inv, scope)
			known[key] = one
		}
		all.add(at+1, guests(inv, exp))
		all.add(at+1, privileged(exp))
		all.add(at+1, one.findings)
		for _, h := range one.handled {
			all.handled[h] = true
		}
		cpus = append(cpus, scope.CPUs...)
	}
	slices.Sort(cpus)
	r.CPUs = slices.Compact(cpus)
	r.Why = "those that the experiment's nodes, links and engines get"
	r.Runs = len(runs)
	r.Findings = all.result(len(runs))
	for h := range all.handled {
		r.Handled = append(r.Handled, h)
	}
	slices.SortFunc(r.Handled, func(a, b Handled) int { return strings.Compare(a.ID+a.By, b.ID+b.By) })
	r.conclude()
	return r, nil
}

// ScopeOf returns what a planned run depends on in the host.
func ScopeOf(inv *host.Inventory, exp *spec.Experiment, p *plan.Plan) Scope {
	s := Scope{Why: "the experiment's", Isolation: exp.Isolation, Tuning: exp.Tuning}
	take := func(cpus ...int) {
		for _, id := range cpus {
			if id >= 0 && !contains(s.CPUs, id) {
				s.CPUs = append(s.CPUs, id)
			}
		}
	}
	waits := func(w spec.Wait) { s.Sleeps = s.Sleeps || w != spec.WaitSpin }
	for _, n := range p.Nodes {
		if n.CPUsExclusive {
			take(n.CPUs...)
		}
		if n.App != nil {
			take(n.App.CPU)
			// The kernel's forwarding runs in softirqs, on whichever CPU
			// packets arrive.
			waits(n.App.Wait)
		}
		if n.Receive != nil {
			if n.Receive.CPUsExclusive {
				take(n.Receive.CPUs...)
			}
			s.RealTime = s.RealTime || n.Receive.Polling != nil && n.Receive.Polling.Policy.RealTime()
		}
		if from := exp.Topology.Nodes[n.Name]; from != nil && from.Scheduling != nil {
			s.RealTime = s.RealTime || from.Scheduling.Policy.RealTime()
		}
	}
	for _, l := range p.Links {
		if l.Switch != nil {
			take(l.Switch.CPUs...)
		}
		if l.Parent != "" {
			s.NICs = append(s.NICs, l.Parent)
		}
		for _, e := range l.Endpoints {
			if name := e.Function.Name; name != "" && !slices.Contains(s.NICs, name) {
				s.NICs = append(s.NICs, name)
			}
		}
	}
	if p.Traffic != nil {
		take(p.Traffic.FromCPU, p.Traffic.ToCPU)
		waits(p.Traffic.Stream.Wait)
	}
	if len(s.CPUs) == 0 {
		fallback := Default(inv)
		s.CPUs, s.Why = fallback.CPUs, fallback.Why
	}
	slices.Sort(s.CPUs)
	s.Apart = p.IsolatedCPUs
	if p.Isolation == spec.IsolationIsolated {
		s.Quiet = slices.Concat(p.IsolatedCPUs, p.QuietCPUs)
	}
	s.Housekeeping = p.HousekeepingCPUs
	if len(s.Housekeeping) == 0 {
		s.Housekeeping = tune.Housekeeping(inv, s.CPUs)
	}
	return s
}

// judged is the result of judging a host for one scope.
type judged struct {
	findings []Finding
	handled  []Handled
}

// examineFor judges a host in the state that it has while the experiment's tuning and
// isolation are in force, and lists what these take care of.
func examineFor(inv *host.Inventory, scope Scope) judged {
	open := scope
	open.Apart, open.Quiet = nil, nil
	bare, isolated := Examine(inv, open), Examine(inv, scope)
	out := judged{findings: isolated}
	if profile, known := tune.BuiltIn(string(scope.Tuning)); known {
		out.findings = Examine(Applied(inv, tune.Settings(inv, scope.own(), profile)), scope)
	}
	has := func(list []Finding, id string) bool {
		return slices.ContainsFunc(list, func(f Finding) bool { return f.ID == id })
	}
	for _, f := range bare {
		switch {
		case !has(isolated, f.ID):
			out.handled = append(out.handled, Handled{f.ID, "isolation: " + string(scope.Isolation)})
		case !has(out.findings, f.ID):
			out.handled = append(out.handled, Handled{f.ID, "tuning: " + string(scope.Tuning)})
		}
	}
	return out
}

// merged collects the findings of several runs.
type merged struct {
	byID    map[string]*Finding
	order   []string
	runs    map[string][]int
	handled map[Handled]bool
}

func (m *merged) add(run int, findings []Finding) {
	for _, f := range findings {
		key := f.ID
		switch {
		case f.Severity != host.SeverityError:
		case f.missing > 0: // the same, in another amount
			key += " " + f.Remedies[0].Text
		default:
			key += " " + f.Title // two runs that lack it for different reasons have two findings
		}
		if known := m.byID[key]; known == nil {
			m.byID[key] = &f
			m.order = append(m.order, key)
		} else if worse(f, *known) {
			*known = f
		}
		if of := m.runs[key]; len(of) == 0 || of[len(of)-1] != run {
			m.runs[key] = append(of, run)
		}
	}
}

func worse(a, b Finding) bool {
	if a.missing != b.missing {
		return a.missing > b.missing
	}
	pair := []Finding{b, a}
	rank(pair)
	return pair[0].ID == a.ID && pair[0].Severity == a.Severity && (a.Severity != b.Severity || a.Cost != nil && b.Cost != nil && a.Cost.ToUS > b.Cost.ToUS || len(a.CPUs) > len(b.CPUs))
}

func (m *merged) result(total int) []Finding {
	list := []Finding{}
	for _, key := range m.order {
		f := *m.byID[key]
		if runs := m.runs[key]; len(runs) < total {
			f.Runs = runs
		}
		list = append(list, f)
	}
	rank(list)
	return list
}

// needs returns findings for what the experiment needs of the kernel and of programs.
func needs(inv *host.Inventory, exp *spec.Experiment) []Finding {
	var list []Finding
	for _, lacking := range host.Check(inv, plan.Needs(exp)) {
		list = append(list, need(lacking))
	}
	return list
}

// need converts a finding of package host, or of a plan, to this package's type.
func need(lacking host.Finding) Finding {
	f := Finding{
		ID: "needs-" + strings.ReplaceAll(lacking.Capability, " ", "-"), Subject: "needs", Severity: lacking.Severity,
		Title:    lacking.Capability + ": " + lacking.Problem,
		Evidence: []Evidence{{"nines host", lacking.Problem}},
		Why:      choose(lacking.Severity == host.SeverityError, "The experiment cannot run as it is written.", "The experiment runs, and the host sets this up automatically."),
		Source:   "docs/planning.md",
		missing:  lacking.Missing,
	}
	text := lacking.Remedy
	if command, found := strings.CutPrefix(text, "apt-get install "); found {
		f.Remedies = append(f.Remedies, Remedy{Text: "install it", Commands: []string{"apt-get install " + command}})
	} else if text != "" {
		f.Remedies = append(f.Remedies, Remedy{Text: text})
	}
	if lacking.Works != "" {
		f.Remedies = append(f.Remedies, Remedy{Text: "or do without: " + lacking.Works})
	}
	if len(f.Remedies) == 0 {
		f.Remedies = []Remedy{{Text: choose(lacking.Severity == host.SeverityError, "use a host that has it", "nothing needs to be done")}}
	}
	return f
}

// unplanned is the finding for a run that does not fit on the host.
func unplanned(err error) Finding {
	f := Finding{
		ID: "needs-more", Subject: "needs", Severity: host.SeverityError, Title: err.Error(),
		Evidence: []Evidence{{"nines plan", err.Error()}},
		Why:      "The experiment cannot run as it is written.",
		Remedies: []Remedy{{Text: "use a larger host, or ask for less"}},
		Source:   "docs/planning.md",
	}
	impossible, missing := new(plan.Impossible), new(exit.MissingError)
	switch {
	case errors.As(err, &impossible):
		f.Title = impossible.Demand + ": " + impossible.Reason
		if impossible.Remedy != "" {
			f.Remedies = []Remedy{{Text: impossible.Remedy}}
		}
	case errors.As(err, &missing):
		return need(host.Finding{Severity: host.SeverityError, Capability: missing.Capability, Problem: missing.Reason, Remedy: missing.Remedy})
	}
	f.Evidence[0].What = f.Title
	return f
}

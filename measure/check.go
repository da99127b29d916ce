package measure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/lab"
	"nines.dev/nines/plan"
)

// Check holds the host against what the runs need, before anything is built. What
// stands in the way is the error; the findings say what else will be seen. Where
// only some runs want a kind of link that the host lacks, such as a switch whose
// program is not installed or functions of a card that it has not, those are left out,
// and a finding says so.
func (e *Experiment) Check() ([]host.Finding, error) {
	var findings []host.Finding
	add := func(found []host.Finding) {
		for _, finding := range found {
			if !slices.Contains(findings, finding) {
				findings = append(findings, finding)
			}
		}
	}
	var lacking []error // of links, in the order of the runs
	if err := e.checkTracing(); err != nil {
		return findings, err
	}
	left := 0
	var planned []doctor.Planned
	for i := range e.runs {
		if err := e.runs[i].lacks; err != nil {
			e.runs[i].skip = err.Error()
			lacking = append(lacking, err)
			continue
		}
		links, rest := splitNeeds(plan.Needs(e.runs[i].spec))
		found := host.Check(e.inventory, rest)
		add(found)
		if err := host.Missing(found); err != nil {
			return findings, err
		}
		found = host.Check(e.inventory, links)
		if err := host.Missing(found); err != nil {
			e.runs[i].skip = err.Error()
			lacking = append(lacking, err)
			continue
		}
		add(found)
		switch err := lab.Check(e.runs[i].plan); {
		case lacksLink(err, e.runs[i].plan):
			e.runs[i].skip = err.Error()
			lacking = append(lacking, err)
			continue
		case err != nil:
			return findings, err
		}
		left++
		planned = append(planned, doctor.Planned{Experiment: e.runs[i].spec, Plan: e.runs[i].plan})
	}
	add(doctor.Brief(e.inventory, planned...))
	if left == 0 {
		return findings, errors.Join(distinct(lacking)...)
	}
	for _, err := range distinct(lacking) {
		findings = append(findings, e.leftOut(err))
	}
	return findings, nil
}

// lacksLink is true for an error that says that the host has not got the program of
// one of the plan's links, or a fit one: that is looked for where it is used.
func lacksLink(err error, p *plan.Plan) bool {
	var missing *host.MissingError
	return errors.As(err, &missing) &&
		slices.ContainsFunc(p.Links, func(l plan.Link) bool { return string(l.Kind) == missing.Capability })
}

// LeftOut is an error that tells how many runs Check left out; nil if it left none out.
func (e *Experiment) LeftOut() error {
	left := 0
	for _, r := range e.runs {
		if r.skip != "" {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	return exit.Lacksf("%d of the %d combinations were not measured, because this host lacks what they need", left, len(e.runs))
}

// splitNeeds takes what links want of the host apart from what everything else does.
func splitNeeds(needs host.Needs) (links, rest host.Needs) {
	rest = needs
	rest.Features = nil
	for _, need := range needs.Features {
		if strings.HasPrefix(need.For, "link ") {
			links.Features = append(links.Features, need)
		} else {
			rest.Features = append(rest.Features, need)
		}
	}
	return links, rest
}

func distinct(errs []error) []error {
	var kept []error
	for _, err := range errs {
		if !slices.ContainsFunc(kept, func(other error) bool { return other.Error() == err.Error() }) {
			kept = append(kept, err)
		}
	}
	return kept
}

// leftOut tells which runs are not measured, and why.
func (e *Experiment) leftOut(err error) host.Finding {
	runs, example := 0, ""
	for _, r := range e.runs {
		if r.skip != err.Error() {
			continue
		}
		if runs++; runs == 1 {
			example = describe(r.variables)
		}
	}
	f := host.Finding{Severity: host.SeverityWarning, Problem: err.Error()}
	missing, hardware := new(host.MissingError), new(plan.NoHardware)
	switch {
	case errors.As(err, &missing):
		f.Capability, f.Problem, f.Remedy = missing.Capability, missing.Reason, missing.Remedy+"; "
	case errors.As(err, &hardware):
		f.Capability, f.Problem, f.Remedy = string(hardware.Kind), hardware.Demand+"; "+hardware.Reason, hardware.Remedy+"; "
	}
	f.Remedy += fmt.Sprintf("%d of %d runs are left out, the first with %s", runs, len(e.runs), example)
	return f
}

// describe names a combination: "links.*.kind=veth, traffic.rate_pps=1000".
func describe(variables map[string]any) string {
	parts := make([]string, 0, len(variables))
	for path, value := range variables {
		parts = append(parts, fmt.Sprintf("%s=%v", path, value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

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

// Check compares the host with what the runs need, before anything is built. The error is what
// prevents a measurement; the findings are other effects to expect. Runs whose kind of link or
// driver of containers the host lacks, such as a switch that is not installed or a card without
// virtual functions, are left out with a finding, if other runs remain.
func (e *Experiment) Check() ([]host.Finding, error) {
	var findings []host.Finding
	add := func(found []host.Finding) {
		for _, finding := range found {
			if !slices.Contains(findings, finding) {
				findings = append(findings, finding)
			}
		}
	}
	var lacking []error // in the order of the runs
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
		spared, rest := splitNeeds(plan.Needs(e.runs[i].spec))
		found := host.Check(e.inventory, rest)
		add(found)
		if err := host.Missing(found); err != nil {
			return findings, err
		}
		found = host.Check(e.inventory, spared)
		if err := host.Missing(found); err != nil {
			e.runs[i].skip = err.Error()
			lacking = append(lacking, err)
			continue
		}
		add(found)
		switch err := lab.Check(e.runs[i].plan); {
		case lacksSpared(err, e.runs[i].plan):
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

// lacksSpared reports whether the error means that the host lacks a usable program for one of the
// plan's links or drivers of containers; programs are looked up only when needed.
func lacksSpared(err error, p *plan.Plan) bool {
	var missing *exit.MissingError
	return errors.As(err, &missing) &&
		(slices.ContainsFunc(p.Links, func(l plan.Link) bool { return string(l.Kind) == missing.Capability }) ||
			slices.ContainsFunc(p.Nodes, func(n plan.Node) bool { return n.OCI != nil && string(n.OCI.Driver) == missing.Capability }))
}

// LeftOut is an error with the number of runs that Check left out; nil if none.
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
	return exit.Lacksf("%d of the %d combinations were not measured, because this host lacks their requirements", left, len(e.runs))
}

// splitNeeds separates the needs of links and of drivers of containers from all others: a sweep can do
// without some of these.
func splitNeeds(needs host.Needs) (spared, rest host.Needs) {
	rest = needs
	rest.Features = nil
	for _, need := range needs.Features {
		if strings.HasPrefix(need.For, "link ") || strings.HasPrefix(need.For, "driver ") {
			spared.Features = append(spared.Features, need)
		} else {
			rest.Features = append(rest.Features, need)
		}
	}
	return spared, rest
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

// leftOut says which runs are not measured, and why.
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
	missing, hardware := new(exit.MissingError), new(plan.NoHardware)
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

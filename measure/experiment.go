package measure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/measure/method"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Experiment is a sweep with every run planned, ready to measure.
type Experiment struct {
	// Source is the experiment file, as stored with the lab.
	Source []byte
	// Origin is the path of the file, to whose folder its relative paths belong.
	Origin string
	// Explain words the causes of a traced trial's slow packets; with nil they have no words.
	Explain func(*result.Causes, result.Details)
	// Scripts are the texts of the file's scripts.
	Scripts   spec.ScriptTexts
	runs      []run
	steps     []method.Step
	inventory *host.Inventory
	// baselines are the generator-only runs, one per different stream; and, on a cluster, per pod.
	baselines []run
}

// run is one combination of the sweep with its plan.
type run struct {
	variables map[string]any
	spec      *spec.Experiment
	// stream is what the run sends: first the file's traffic, then changed by stream.go. The plan
	// and the open ports do not depend on these changes.
	stream spec.Traffic
	// plan is nil if the host lacks a link's hardware; lacks says which.
	plan  *plan.Plan
	lacks error
	// most is the same run at rate 0, for a rate that is a fraction of the maximum.
	most *run
	// share is set once the maximum is known.
	share *result.Share
	// ceilingPPS is what the generator can send, for a search without a highest rate.
	ceilingPPS float64
	// swept are the variables of scripts that the sweep varies.
	swept map[string]bool
	// sweptNodes are those of single nodes.
	sweptNodes map[string]map[string]bool
	// skip says why the run cannot be measured here while others can.
	skip string
}

// Prepare plans every run of the file's sweep on the host. Nothing is built.
func Prepare(file *spec.File, inventory *host.Inventory) (*Experiment, error) {
	runs, err := file.Runs()
	if err != nil {
		return nil, err
	}
	source, err := file.Effective()
	if err != nil {
		return nil, err
	}
	scripts, err := file.ScriptTexts(runs)
	if err != nil {
		return nil, err
	}
	e := &Experiment{Source: source, Origin: file.Origin(), Scripts: scripts, inventory: inventory}
	seen := make(map[string]bool)
	var lacking []error
	for _, one := range plan.WaitTogether(runs, inventory) {
		if one.Experiment.Traffic == nil && !one.Experiment.RunsScripts() {
			return nil, exit.Wrongf("%s: the file has no traffic to measure; add a 'traffic:' section, give nodes scripts: {experiment: …}, or bring the lab up with 'nines up'", file.Name())
		}
		r := run{variables: one.VariableMap(), spec: one.Experiment}
		if one.Experiment.Traffic != nil {
			r.stream = *one.Experiment.Traffic
		}
		p, err := plan.Make(one.Experiment, inventory)
		if errors.As(err, new(*plan.NoHardware)) {
			r.lacks = err // Check decides what it means
			e.runs = append(e.runs, r)
			lacking = append(lacking, one.Located(err))
			continue
		}
		if err != nil {
			return nil, one.Located(err)
		}
		r.plan = p
		if p.Traffic == nil {
			e.runs = append(e.runs, r)
			continue
		}
		r.stream.Wait = p.Traffic.Stream.Wait // the plan's choice, where the file leaves it that
		if r.most, err = maxRateRun(r, inventory); err != nil {
			return nil, err
		}
		e.runs = append(e.runs, r)
		if p.Duet != nil {
			continue // its sides are each other's baseline
		}
		var alone *spec.Experiment
		keeps := ofTraffic(r.variables, one.Experiment, runs)
		if generator := p.Traffic.From.Node; p.OnCluster(generator) {
			if backend := one.Experiment.Traffic.Backend; backend == spec.BackendDPDK || backend == spec.BackendXDP {
				continue // a pod alone has only its kernel's loopback
			}
			alone = baselineOfPod(one.Experiment, p)
			maps.Copy(keeps, ofPod(r.variables, generator))
		} else {
			alone = baselineOf(one.Experiment, p)
		}
		key := identity(alone)
		if seen[key] {
			continue
		}
		seen[key] = true
		if r.plan, err = plan.Make(alone, inventory); err != nil {
			return nil, fmt.Errorf("plan the baseline: %w", err)
		}
		r.spec, r.stream, r.most, r.variables = alone, *alone.Traffic, nil, keeps
		e.baselines = append(e.baselines, r)
	}
	if len(lacking) == len(e.runs) {
		return nil, errors.Join(distinct(lacking)...)
	}
	findSwept(e.runs)
	e.steps = method.Sweep(len(e.runs), runs[0].Experiment.Repeat, runs[0].Experiment.Order)
	return e, nil
}

// ofTraffic keeps the variables that change a generator-only run. The backend and its I/O are among
// them if a case of the sweep sets them.
func ofTraffic(variables map[string]any, exp *spec.Experiment, runs []spec.Run) map[string]any {
	kept := make(map[string]any)
	for path, value := range variables {
		if strings.HasPrefix(path, "traffic.") && path != rateOfMaximum {
			kept[path] = value
		}
	}
	for _, other := range runs {
		if other.Experiment.Traffic == nil {
			continue // a case of the sweep takes it away
		}
		if other.Experiment.Traffic.Backend != exp.Traffic.Backend {
			kept["traffic.backend"] = string(exp.Traffic.Backend)
		}
		if other.Experiment.Traffic.IO != exp.Traffic.IO {
			kept["traffic.io"] = string(exp.Traffic.IO)
		}
	}
	return kept
}

// ofPod are the variables that move the pod of the generator, or make it another.
func ofPod(variables map[string]any, generator string) map[string]any {
	kept := make(map[string]any)
	for path, value := range variables {
		if strings.HasPrefix(path, "nodes."+generator+".") || strings.HasPrefix(path, "cluster.") {
			kept[path] = value
		}
	}
	return kept
}

// Name is the experiment's name.
func (e *Experiment) Name() string { return e.runs[0].spec.Name }

// Published are the published measurements that the file gives for comparison.
func (e *Experiment) Published() []result.Published {
	var list []result.Published
	for _, p := range e.runs[0].spec.Published {
		published := result.Published{Source: p.Source, Figure: string(p.Figure), Series: p.Series}
		for _, point := range p.Points {
			published.Points = append(published.Points, [2]float64(point))
		}
		list = append(list, published)
	}
	return list
}

// TrialTime is the average duration of a trial's traffic.
func (e *Experiment) TrialTime() time.Duration {
	var total time.Duration
	for _, r := range e.runs {
		total += r.stream.Lasts()
	}
	return total / time.Duration(len(e.runs))
}

// Plans are the plans of the runs that have one, in sweep order.
func (e *Experiment) Plans() []*plan.Plan {
	var plans []*plan.Plan
	for _, r := range e.runs {
		if r.plan != nil {
			plans = append(plans, r.plan)
		}
	}
	return plans
}

// HasTraffic is true if a trial sends packets.
func (e *Experiment) HasTraffic() bool {
	return slices.ContainsFunc(e.runs, func(r run) bool { return r.spec.Traffic != nil })
}

// KeptScripts are the texts of script files, by their path in the file: what a result has to keep.
func (e *Experiment) KeptScripts() map[string]string { return scriptNames(e.Scripts) }

// Trials is the number of trials without baselines and without searches, which decide their own
// number.
func (e *Experiment) Trials() int {
	return e.count(func(r run) bool { return r.spec.Method.Plain() })
}

// Searches is the number of times a search method runs.
func (e *Experiment) Searches() int {
	return e.count(func(r run) bool { return !r.spec.Method.Plain() })
}

func (e *Experiment) count(which func(run) bool) int {
	count := 0
	for _, step := range e.steps {
		if r := e.runs[step.Run]; r.skip == "" && which(r) {
			count++
		}
	}
	return count
}

// Methods are the kinds of its searches, without repetition.
func (e *Experiment) Methods() []string {
	var kinds []string
	for _, r := range e.runs {
		if m := r.spec.Method; !m.Plain() && !slices.Contains(kinds, string(m.Kind)) {
			kinds = append(kinds, string(m.Kind))
		}
	}
	return kinds
}

// Networks is how often a network is built or changed for the trials, in their order.
func (e *Experiment) Networks() int {
	count, last := 0, ""
	for _, step := range e.steps {
		r := e.runs[step.Run]
		if r.skip != "" {
			continue
		}
		if now := labIdentity(r.plan); now != last {
			count, last = count+1, now
		}
	}
	return count
}

// EndsEarly reports whether trials may end before their time, as a duet's do when all that was asked is decided.
func (e *Experiment) EndsEarly() bool {
	return slices.ContainsFunc(e.runs, func(r run) bool { return r.skip == "" && r.plan.Duet != nil })
}

// Duration is roughly how long the experiment's traffic takes, without building labs and without
// searches, whose time is unknown.
func (e *Experiment) Duration() time.Duration {
	var total time.Duration
	found := make(map[string]bool)
	for _, step := range e.steps {
		r := e.runs[step.Run]
		if r.skip != "" {
			continue
		}
		if r.spec.Method.Plain() {
			total += r.stream.Lasts()
		}
		if r.most != nil && !found[identity(r.most.spec)] {
			found[identity(r.most.spec)] = true
			total += r.most.stream.Lasts()
		}
	}
	for _, alone := range e.baselines {
		total += 2 * alone.stream.Lasts()
	}
	return total
}

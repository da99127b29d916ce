package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/lab/scripts"

	"nines.dev/nines/lab"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/script"
	"nines.dev/nines/spec"
)

// labScripts are the scripts of a running lab.
type labScripts struct {
	lab    *lab.Lab
	plan   *plan.Plan
	texts  spec.ScriptTexts
	writer *result.Writer
	server *script.Server
	// folder is where the output of setup and teardown goes, in the result.
	folder string
	// setup are the variables after the setup scripts; file those of the experiment file.
	setup *script.Variables
}

// The kinds of a node's scripts.
const (
	scriptSetup      = "setup"
	scriptExperiment = "experiment"
	scriptTeardown   = "teardown"
)

// startScripts serves the scripts of a lab that has just been made, and runs its setup. It returns
// nil for a lab without scripts. Where the setup fails it returns the scripts with the error, since
// what a part of it has done is to be torn down.
func startScripts(ctx context.Context, l *lab.Lab, r run, texts spec.ScriptTexts, writer *result.Writer) (*labScripts, error) {
	p := l.Plan()
	sockets, any := map[string]string{}, false
	for _, n := range p.Nodes {
		any = any || n.Scripts.Any()
		if n.Scripts.Any() && !n.Guest() {
			sockets[n.Name] = scripts.In(l.Lab, n.Name).Socket()
		}
	}
	if !any {
		return nil, nil
	}
	server, err := script.NewServer(sockets)
	if err != nil {
		return nil, err
	}
	s := &labScripts{lab: l, plan: p, texts: texts, writer: writer, server: server, setup: r.scriptVariables().Outside()}
	if s.folder, err = writer.NewLabScripts(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return s, s.outsideTrials(ctx, scriptSetup)
}

// scriptVariables are the variables of a run as its file has them.
func (r run) scriptVariables() *script.Variables {
	nodes := map[string]map[string]string{}
	for name, n := range r.spec.Topology.Nodes {
		if n != nil && len(n.Variables) > 0 {
			nodes[name] = n.Variables
		}
	}
	all := script.NewVariables(r.spec.Variables, nodes, sweptVariables(r))
	all.SweepNodes(r.sweptNodes)
	return all
}

// sweptVariables are what the sweep varies, by the names that scripts ask for: variables.rate is
// rate, with the text that the file has, and another key is itself.
func sweptVariables(r run) map[string]string {
	swept := map[string]string{}
	for key, value := range r.variables {
		if !strings.HasPrefix(key, "variables.") {
			swept[key] = result.FormatVariable(value)
		}
	}
	for name := range r.swept {
		swept[name] = r.spec.Variables[name]
	}
	return swept
}

// parts are the nodes' scripts of a kind.
func (s *labScripts) parts(kind string) []script.Part {
	var parts []script.Part
	for _, n := range s.plan.Nodes {
		// A dead node has nothing left to tear down.
		if n.Scripts == nil || kind == scriptTeardown && !s.lab.Alive(n.Name) {
			continue
		}
		of := map[string]spec.Script{scriptSetup: n.Scripts.Setup, scriptExperiment: n.Scripts.Experiment, scriptTeardown: n.Scripts.Teardown}[kind]
		if of != "" {
			parts = append(parts, script.Part{Node: n.Name, Kind: kind, Text: s.texts[of]})
		}
	}
	return parts
}

// outsideTrials runs the lab's setup or teardown. It fails where a script does.
func (s *labScripts) outsideTrials(ctx context.Context, kind string) error {
	outcomes, err := s.run(ctx, kind, path.Join(s.folder, kind), s.setup)
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	for _, o := range outcomes {
		if o.How != "" {
			err = errors.Join(err, fmt.Errorf("node %s: its %s script %s", o.Node, o.Kind, o.How))
		}
	}
	return err
}

// run runs the scripts of a kind, with their output in a folder of the result.
func (s *labScripts) run(ctx context.Context, kind, folder string, variables *script.Variables) ([]script.Outcome, error) {
	parts := s.parts(kind)
	if len(parts) == 0 {
		return nil, nil
	}
	into, err := s.writer.ScriptFolder(folder)
	if err != nil {
		return nil, err
	}
	limits := s.plan.Scripts
	phase, err := script.NewPhase(script.PhaseOptions{
		Parts: parts, Variables: variables, Starter: starter{s.lab},
		Timeout: time.Duration(limits.Timeout), Into: into, Limit: int64(limits.UploadLimit),
	})
	if err != nil {
		return nil, errors.Join(err, into.Close())
	}
	unserve, err := s.serveGuests(ctx, parts)
	if err != nil {
		unserve()
		return nil, errors.Join(err, phase.Close(), into.Close())
	}
	outcomes, err := s.server.Run(ctx, phase)
	if err != nil {
		err = fmt.Errorf("store the output of the %s scripts: %w", kind, err)
	}
	unserve()
	return outcomes, errors.Join(err, into.Close())
}

// serveGuests answers the scripts of virtual machines until unserve. It is done for each phase, as a guest may boot
// between them.
func (s *labScripts) serveGuests(ctx context.Context, parts []script.Part) (unserve func(), err error) {
	var served []net.Listener
	unserve = func() {
		for _, listener := range served {
			_ = listener.Close() // a guest that was restarted meanwhile has ended it
		}
	}
	for _, part := range parts {
		listener, err := scripts.In(s.lab.Lab, part.Node).Serve(ctx)
		if err != nil && s.lab.Alive(part.Node) { // in one that is dead the script fails by itself
			return unserve, err
		}
		if listener != nil {
			served = append(served, listener)
			s.server.Serve(listener, part.Node)
		}
	}
	return unserve, nil
}

// trial runs the experiment scripts of a trial. Their output is in the result's folder for the next
// trial, which AddTrial names.
func (s *labScripts) trial(ctx context.Context, r run) ([]result.Script, error) {
	variables := r.scriptVariables().Trial(s.setup)
	folder, err := s.writer.NewTrialScripts()
	if err != nil {
		return nil, err
	}
	outcomes, err := s.run(ctx, scriptExperiment, folder, variables)
	if err != nil {
		return nil, err
	}
	if err := s.writer.WriteScriptVariables(folder, variables.Values()); err != nil {
		return nil, err
	}
	var list []result.Script
	for _, o := range outcomes {
		list = append(list, scriptResult(o))
	}
	return list, nil
}

// mostNamed is how many uploads of a script the summary names: it is one file for all trials, and is read as a
// whole. The result's folder has all.
const mostNamed = 100

func scriptResult(o script.Outcome) result.Script {
	named := o.Uploads[:min(mostNamed, len(o.Uploads))]
	return result.Script{
		Node: o.Node, Status: o.Status, How: o.How, TookNs: o.Took.Nanoseconds(), Uploads: named, MoreUploads: len(o.Uploads) - len(named), Cut: o.Cut,
	}
}

// close runs the lab's teardown and ends the server.
func (s *labScripts) close(ctx context.Context) error {
	return errors.Join(s.outsideTrials(ctx, scriptTeardown), s.server.Close())
}

// scriptNames are the scripts' names in a result, for one that is resumed.
func scriptNames(texts spec.ScriptTexts) map[string]string {
	names := map[string]string{}
	for _, s := range slices.Sorted(maps.Keys(texts)) {
		if !s.Inline() {
			names[string(s)] = texts[s]
		}
	}
	return names
}

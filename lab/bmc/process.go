package bmc

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/power"
)

// step is the Name of the step in the journal of the process that switches nodes for clients of
// the network; it is of no node.
const step = "nines bmc"

// tokenName names its token. No node can have that name.
const tokenName = ".power"

// Part is what check and faults call it.
const Part = "power"

// IsProcess is true for the step of that process.
func IsProcess(e journal.Entry) bool {
	return e.Kind == process.Kind && e.Name == step && e.Node == "" && e.Link == ""
}

// Check checks before anything is made that there is a password, unless a script of the host may
// make it.
func Check(p *plan.Plan) error {
	if p.Power == nil || p.Scripts != nil && p.Scripts.HostSetup != "" {
		return nil
	}
	_, err := power.ReadPassword(p.Power.PasswordFile)
	return err
}

// Starter starts the process that switches nodes for clients of the network.
type Starter struct {
	*running.Lab
	// Place is where the nodes are made.
	Place node.Place
	// Nines is the program nines.
	Nines string
	// Before is the lab's previous plan; nil for a new lab.
	Before *plan.Plan
}

// Start starts the process that switches nodes for clients of the network, if the plan has one and
// none runs, and ends one that the plan no longer has. It gets its sockets from us, so that an address
// that is taken is an error of the lab; it gets no password, and reads the file itself.
func (s Starter) Start(ctx context.Context) error {
	now := process.OfStep(s.Place.Journal, IsProcess)
	as := s.Before == nil || plan.Same(s.Before.Power, s.Plan().Power)
	if s.Plan().Power != nil && as && now.PID != 0 && now.Alive() {
		return nil
	}
	if err := s.Place.Journal.Undo(ctx, s.Place.Progress, IsProcess); err != nil || s.Plan().Power == nil {
		return err
	}
	if _, err := power.ReadPassword(s.Plan().Power.PasswordFile); err != nil {
		return err
	}
	sockets, err := listen(s.Plan().Power)
	defer func() {
		for _, socket := range sockets {
			_ = socket.Close()
		}
	}()
	if err != nil {
		return err
	}
	token := s.Place.Journal.Token(tokenName)
	return process.Make(s.Place.Journal, journal.Step{Name: step, Token: token}, func() (proc.Identity, error) {
		log, err := os.OpenFile(s.State().PowerLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		cmd := exec.Command(s.Nines, "bmc", s.Name())
		cmd.ExtraFiles = sockets
		return node.Spawn(cmd, token, log)
	})
}

// Faults says if the process that switches nodes has ended.
func Faults(l *running.Lab) ([]check.Fault, error) {
	if l.Plan().Power == nil {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	id := process.OfStep(j, IsProcess)
	if id.PID != 0 && id.Alive() {
		return nil, nil
	}
	problem := fmt.Sprintf("the program that answers IPMI and Redfish for the nodes has ended (process %d)", id.PID)
	if said := node.LastLines(l.State().PowerLog()); said != "" {
		problem += "; its last output was: " + said
	}
	return []check.Fault{{Of: Part, Part: Part, Problem: problem, Remedy: check.PowerAgain, Target: l.Name()}}, nil
}

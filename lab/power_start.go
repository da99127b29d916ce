package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/power"
)

// powerStep is the Name of the step in the journal of the process that switches nodes for clients of
// the network; it is of no node.
const powerStep = "nines bmc"

// powerToken names its token. No node can have that name.
const powerToken = ".power"

// powerPart is what check and faults call it.
const powerPart = "power"

func ofPower(e journal.Entry) bool {
	return e.Kind == process.Kind && e.Name == powerStep && e.Node == "" && e.Link == ""
}

// checkPower checks before anything is made that there is a password, unless a script of the host may
// make it.
func checkPower(p *plan.Plan) error {
	if p.Power == nil || p.Scripts != nil && p.Scripts.HostSetup != "" {
		return nil
	}
	_, err := power.ReadPassword(p.Power.PasswordFile)
	return err
}

// startPower starts the process that switches nodes for clients of the network, if the plan has one and
// none runs, and ends one that the plan no longer has. It gets its sockets from us, so that an address
// that is taken is an error of the lab; it gets no password, and reads the file itself.
func (b *builder) startPower(ctx context.Context, _ work) error {
	running := attendant(b.journal, ofPower)
	as := b.before == nil || plan.Same(b.before.Power, b.Plan().Power)
	if b.Plan().Power != nil && as && running.PID != 0 && running.Alive() {
		return nil
	}
	if err := b.journal.Undo(ctx, b.progress, ofPower); err != nil || b.Plan().Power == nil {
		return err
	}
	if _, err := power.ReadPassword(b.Plan().Power.PasswordFile); err != nil {
		return err
	}
	sockets, err := listenForPower(b.Plan().Power)
	defer func() {
		for _, s := range sockets {
			_ = s.Close()
		}
	}()
	if err != nil {
		return err
	}
	token := b.journal.Token(powerToken)
	return process.Make(b.journal, journal.Step{Name: powerStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.OpenFile(b.State().PowerLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		cmd := exec.Command(b.programs.nines, "bmc", b.Name())
		cmd.ExtraFiles = sockets
		return node.Spawn(cmd, token, log)
	})
}

// FirstPowerSocket is the descriptor of the first socket that the process is started with: Redfish's,
// if there is one, then one for each node with a port, in the plan's order.
const FirstPowerSocket = 3

// listenForPower opens the sockets. With an error it returns those that it has opened.
func listenForPower(p *plan.Power) (sockets []*os.File, err error) {
	if host, has := p.RedfishHost(); has {
		listener, err := net.Listen("tcp", host)
		if err != nil {
			return sockets, addressTaken("redfish_port", host, err)
		}
		file, err := listener.(*net.TCPListener).File()
		_ = listener.Close() // the file is a duplicate
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, file)
	}
	for _, n := range p.Nodes {
		if n.Port == 0 {
			continue
		}
		conn, err := net.ListenPacket("udp", p.IPMI(n))
		if err != nil {
			return sockets, addressTaken("first_port", p.IPMI(n), err)
		}
		file, err := conn.(*net.UDPConn).File()
		_ = conn.Close()
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, file)
	}
	return sockets, nil
}

func addressTaken(key, address string, err error) error {
	return exit.Wrongf("power: %s cannot be listened at: %w; give another %s, as other labs and servers of this host have ports, too", address, err, key)
}

// deadPower says if the process that switches nodes has ended.
func (l *Lab) deadPower() ([]check.Fault, error) {
	if l.Plan().Power == nil {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	id := attendant(j, ofPower)
	if id.PID != 0 && id.Alive() {
		return nil, nil
	}
	problem := fmt.Sprintf("the program that answers IPMI and Redfish for the nodes has ended (process %d)", id.PID)
	if said := node.LastLines(l.State().PowerLog()); said != "" {
		problem += "; its last output was: " + said
	}
	return []check.Fault{{Of: powerPart, Part: powerPart, Problem: problem, Remedy: check.PowerAgain, Target: l.Name()}}, nil
}

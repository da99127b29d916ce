package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/plan"
	"nines.dev/nines/power"
	"nines.dev/nines/power/ipmi"
	"nines.dev/nines/power/redfish"
	"nines.dev/nines/terminal"
)

// newBMCCommand is the process that nines up starts for a lab with the section power. It is not for
// users: it gets its sockets from nines up.
func newBMCCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bmc LAB",
		Short: "Answer IPMI and Redfish for a lab's nodes",
		Long: `Answer IPMI 2.0 and Redfish for the nodes of a lab, as the management controllers of servers
do. nines up starts it if the file has the section power, and passes it its sockets; nines
down ends it. It prints one line for each action.`,
		Example: `  nines bmc quickstart`,
		Hidden:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Wrongf("name one lab; nines up starts this if the file has the section power")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGHUP) // a lost terminal is no reason to end
			var mu sync.Mutex
			say := func(line string) {
				mu.Lock()
				defer mu.Unlock()
				terminal.Println(c.OutOrStdout(), time.Now().Format(time.RFC3339), line)
			}
			return serveBMC(c.Context(), args[0], say)
		},
	}
}

// serveBMC answers until ctx ends or something is wrong with a socket.
func serveBMC(ctx context.Context, name string, say func(string)) error {
	running, err := lab.Open(name)
	if err != nil {
		return err
	}
	p := running.Plan().Power
	if p == nil {
		return exit.Wrongf("lab %q has no section power in its file", name)
	}
	password, err := power.ReadPassword(p.PasswordFile)
	if err != nil {
		return err
	}
	sockets, err := takePowerSockets(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	control := power.NewController(ctx, labMachines{name, say}, say)
	guard := power.NewGuard(say)
	var serving sync.WaitGroup
	serve := func(f func() error) {
		serving.Go(func() {
			if err := f(); err != nil {
				cancel(err)
			}
		})
	}
	if sockets.redfish != nil {
		listener := redfish.Limit(sockets.redfish)
		if strings.HasPrefix(p.Redfish, "https:") {
			if listener, err = redfish.TLS(listener); err != nil {
				return err
			}
		}
		config := redfish.Config{Control: control, Guard: guard, User: p.User, Password: password, Say: say}
		for _, n := range p.Nodes {
			config.Nodes = append(config.Nodes, n.Name)
		}
		serve(func() error { return redfish.Serve(ctx, listener, redfish.New(config)) })
	}
	for node, socket := range sockets.ipmi {
		port, err := ipmi.NewPort(node, ipmi.Config{Control: control, Guard: guard, User: p.User, Password: password, Say: say})
		if err != nil {
			return err
		}
		serve(func() error { return port.Serve(ctx, socket) })
	}
	say(fmt.Sprintf("answering for %s at %s", terminal.Count(len(p.Nodes), "node"), p.Address))
	serving.Wait()
	control.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// powerSockets are the sockets of the process.
type powerSockets struct {
	redfish net.Listener
	ipmi    map[string]net.PacketConn // by node
}

// takePowerSockets takes the sockets that nines up has started us with.
func takePowerSockets(p *plan.Power) (powerSockets, error) {
	found := powerSockets{ipmi: map[string]net.PacketConn{}}
	var from netip.Prefix // a loopback address needs none
	if p.Subnet != "" {
		var err error
		if from, err = netip.ParsePrefix(p.Subnet); err != nil {
			return found, fmt.Errorf("the clients' network: %w", err)
		}
	}
	fd := uintptr(bmc.FirstSocket)
	take := func(use func(*os.File) error) error {
		file := os.NewFile(fd, "socket")
		fd++
		err := use(file)
		_ = file.Close() // it is a duplicate that is used
		if err != nil {
			return exit.Wrongf("descriptor %d is not the socket that nines up gives this process: %w; use nines up, and nines power to switch nodes", fd-1, err)
		}
		return nil
	}
	if _, has := p.RedfishHost(); has {
		if err := take(func(f *os.File) (err error) { found.redfish, err = net.FileListener(f); return err }); err != nil {
			return found, err
		}
		if from.IsValid() {
			found.redfish = power.OnlyClientsFrom(found.redfish, from)
		}
	}
	for _, n := range p.Nodes {
		if n.Port == 0 {
			continue
		}
		if err := take(func(f *os.File) (err error) { found.ipmi[n.Name], err = net.FilePacketConn(f); return err }); err != nil {
			return found, err
		}
		if from.IsValid() {
			found.ipmi[n.Name] = power.OnlyFrom(found.ipmi[n.Name], from)
		}
	}
	return found, nil
}

// labMachines are the nodes of a lab for those who switch them. The lab is read each time, as others
// change it.
type labMachines struct {
	name string
	say  func(string)
}

func (m labMachines) State(node string) (power.State, error) {
	running, err := lab.Open(m.name)
	if err != nil {
		return power.State{}, err
	}
	return running.PowerState(node)
}

func (m labMachines) Can(node string, action power.Action) (bool, error) {
	running, err := lab.Open(m.name)
	if err != nil {
		return false, err
	}
	return running.CanPower(node, action), nil
}

func (m labMachines) Do(ctx context.Context, node string, action power.Action, by string) error {
	return lab.Power(ctx, m.name, node, action, lab.PowerOptions{By: by, Progress: m.say})
}

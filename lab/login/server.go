package login

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/running"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// sshdStep is the Name of a node's SSH server in the journal.
const sshdStep = "sshd"

// SSHDProgram is where Debian has it, on the host and in images.
const SSHDProgram = "/usr/sbin/sshd"

// sshPort is where a node's server listens, at its address on the management network only.
const sshPort = 22

// IsServer is true for the step of a node's SSH server.
func IsServer(e journal.Entry, nodeName string) bool {
	return e.Kind == process.Kind && e.Name == sshdStep && e.Link == "" && e.Node == nodeName
}

// StartServers starts an SSH server in those new nodes that have the program, and in which nothing but
// nines starts programs. Elsewhere the node's own first process may start one, whose port nines leaves
// to it: it finds the node's keys where servers look for them.
func (m *Maker) StartServers(ctx context.Context, begun []plan.Node, again map[string]bool) error {
	if m.Plan().Management == nil {
		return nil
	}
	if _, err := os.Stat(m.State().ClientConfig()); err != nil {
		return state.AbsentIsFine(err) // nobody can log in (MakeKeys)
	}
	nodes := slices.Clone(begun)
	for _, n := range m.Plan().Nodes {
		new := slices.ContainsFunc(begun, func(other plan.Node) bool { return other.Name == n.Name })
		if again[n.Name] || n.Guest() && !new && m.tellGuests() && m.Alive(n.Name) {
			nodes = append(nodes, n)
		}
	}
	return node.Each(ctx, len(nodes), func(i int) error {
		n := nodes[i]
		if !m.Plan().LogsIn(n) {
			return nil
		}
		start := m.startSSHServer
		if n.Guest() {
			start = m.startGuestSSH
		}
		if err := start(ctx, n); err != nil {
			return fmt.Errorf("SSH server of node %q: %w", n.Name, err)
		}
		return nil
	})
}

func (m *Maker) startSSHServer(ctx context.Context, n plan.Node) error {
	r := m.Running(n.Name)
	why, missing, err := noServer(n, r)
	if err != nil {
		return err
	}
	if why != "" {
		// Where the node has the host's files, who asked for keys can get the program.
		if missing && len(m.Plan().Management.SSHKeys) > 0 && !n.Runtime.Descriptor().OwnRoot {
			return &exit.MissingError{Capability: sshdStep, Reason: why, Remedy: "apt-get install openssh-server, or take management.ssh_keys away"}
		}
		return nil
	}
	if err := m.sshdFolder(n, r); err != nil {
		return err
	}
	token := m.Place.Journal.Token("sshd/" + n.Name)
	var server proc.Identity
	err = process.Make(m.Place.Journal, journal.Step{Node: n.Name, Name: sshdStep, Token: token}, func() (proc.Identity, error) {
		log, err := os.Create(sshLog(m.Lab, n.Name))
		if err != nil {
			return proc.Identity{}, err
		}
		defer log.Close()
		argv := []string{SSHDProgram, "-D", "-e", "-f", filepath.Join(m.Place.AccessSeen(n), node.SSHConfig)}
		entry := running.EntryFor(n, argv, running.ExecOptions{Env: []string{"NINES_TOKEN=" + token}})
		entry.Detach = token
		cmd, err := node.RuntimeOf(n).Command(ctx, m.Place, n, r, entry)
		if err == nil {
			server, err = node.Detach(cmd, log)
		}
		return server, err
	})
	if err != nil {
		return err
	}
	return m.awaitSSHServer(ctx, n, r, server)
}

// noServer says why nines starts no SSH server in a node; empty where it does. missing is true if the
// program is missing, so that nobody else starts one either.
func noServer(n plan.Node, r *node.Running) (why string, missing bool, err error) {
	first, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", r.PID))
	if err != nil {
		return "", false, err
	}
	if strings.TrimSpace(string(first)) != "nines-init" {
		return fmt.Sprintf("its first process, %s, starts what runs in node %s", strings.TrimSpace(string(first)), n.Name), false, nil
	}
	file, err := node.OpenInside(r.PID, SSHDProgram, unix.O_PATH)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return fmt.Sprintf("there is no %s in node %s", SSHDProgram, n.Name), true, nil
	}
	if err != nil {
		return "", false, err
	}
	return "", false, file.Close()
}

// sshPatience bounds the wait for a server's first answer, which takes some milliseconds.
const sshPatience = 30 * time.Second

// awaitSSHServer returns when a node's server takes connections.
func (m *Maker) awaitSSHServer(ctx context.Context, n plan.Node, r *node.Running, server proc.Identity) error {
	address, err := netip.ParseAddr(m.Plan().ManagementAddress(n))
	if err != nil {
		return err
	}
	return await.Until(ctx, await.Condition{
		What: fmt.Sprintf("it answers at %s", address), Within: sshPatience, Every: 20 * time.Millisecond,
		Holds: func(context.Context) error {
			failed := link.Answers(link.HolderOf(r), address, sshPort)
			if !server.Alive() {
				return await.Never(fmt.Errorf("it ended at once: %s", node.LastLines(sshLog(m.Lab, n.Name))))
			}
			return failed
		},
	})
}

// sshLog is the file with what a node's SSH server says. No node sees it.
func sshLog(l *running.Lab, nodeName string) string {
	return filepath.Join(l.State().Logs(), nodeName+".sshd.log")
}

// Servers are the processes of the nodes' SSH servers, dead ones included.
func Servers(l *running.Lab) (map[string]proc.Identity, error) {
	if l.Plan().Management == nil {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	servers := map[string]proc.Identity{}
	for _, e := range j.Entries() {
		if e.Learnt != nil && IsServer(e, e.Node) {
			servers[e.Node] = process.Of(e)
		}
	}
	return servers, nil
}

// Faults says which SSH servers have ended while their node still runs.
func Faults(l *running.Lab) ([]check.Fault, error) {
	servers, err := Servers(l)
	var faults []check.Fault
	for _, n := range l.Plan().Nodes {
		id, has := servers[n.Name]
		if !has || id.Alive() || !l.Alive(n.Name) {
			continue
		}
		problem := fmt.Sprintf("the SSH server of node %s has ended (process %d)", n.Name, id.PID)
		if said := node.LastLines(sshLog(l, n.Name)); said != "" {
			problem += "; its last output was: " + said
		}
		faults = append(faults, check.Fault{Of: "the SSH server of node " + n.Name, Part: "node " + n.Name, Problem: problem, Remedy: check.LoginAgain, Target: n.Name})
	}
	return faults, err
}

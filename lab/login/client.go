package login

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// unreachable is an error for a lab without a management network.
func unreachable(l *running.Lab) error {
	if l.Plan().Management == nil {
		return exit.Wrongf("lab %q has no management network; write management: {} in its file and nines apply it, or use nines exec and nines shell", l.Name())
	}
	return nil
}

// keyless is an error for a lab that has no keys to log in with, or for a caller who may not see them.
func keyless(l *running.Lab) error {
	_, err := os.Stat(l.State().ClientConfig())
	if err == nil {
		return nil
	}
	if state.AbsentIsFine(err) == nil {
		return &exit.MissingError{
			Capability: keyProgram, Reason: "there was none when the lab came up, so it has no keys",
			Remedy: "apt-get install openssh-client and recreate the lab, or use nines exec",
		}
	}
	return state.NeedRoot(err)
}

// reached are the nodes that people can log in to, as far as can be seen: without those that lack the
// program. A node that is stopped may have it.
func reached(l *running.Lab) []plan.Node {
	var list []plan.Node
	for _, n := range l.Plan().Nodes {
		if !l.Plan().LogsIn(n) {
			continue
		}
		if l.Alive(n.Name) && !n.Guest() {
			if _, missing, err := noServer(n, l.Running(n.Name)); err == nil && missing {
				continue
			}
		}
		list = append(list, n)
	}
	return list
}

// clients are the nodes that a file for SSH clients lists. It is an error if there are none: an empty file would look
// like one of a lab without nodes.
func clients(l *running.Lab) ([]plan.Node, error) {
	if err := unreachable(l); err != nil {
		return nil, err
	}
	if err := keyless(l); err != nil {
		return nil, err
	}
	nodes := reached(l)
	if len(nodes) == 0 {
		return nil, &exit.MissingError{
			Capability: sshdStep, Reason: "no node of lab " + l.Name() + " has an SSH server",
			Remedy: "apt-get install openssh-server, which netns nodes have as well, use images with ssh: true, or nines exec",
		}
	}
	return nodes, nil
}

// WriteHosts writes the nodes for this host's /etc/hosts, as NODE.LAB.
func WriteHosts(l *running.Lab, out io.Writer) error {
	if err := unreachable(l); err != nil {
		return err
	}
	_, err := io.WriteString(out, l.Plan().HostsForHost())
	return err
}

// Command makes the client's command that logs in to a node with the lab's identity, ssh(1), and runs argv
// there, or a shell.
func Command(l *running.Lab, nodeName string, argv []string) (*exec.Cmd, error) {
	n, r, err := l.Node(nodeName)
	if err != nil {
		return nil, err
	}
	if err := unreachable(l); err != nil {
		return nil, err
	}
	switch {
	case !l.Plan().LogsIn(n):
		return nil, exit.Wrongf("node %q is the host itself, for which nines runs no SSH server; use nines exec and nines shell", nodeName)
	case !l.Alive(nodeName):
		return nil, fmt.Errorf("node %q does not run; nines start %s or nines restart %s starts it", nodeName, nodeName, nodeName)
	}
	program, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &exit.MissingError{Capability: "ssh", Reason: "there is no ssh in PATH", Remedy: "apt-get install openssh-client, or use nines exec"}
	}
	if err := keyless(l); err != nil {
		return nil, err
	}
	if why, missing, err := noServer(n, r); err == nil && missing && !n.Guest() {
		return nil, &exit.MissingError{Capability: sshdStep, Reason: why, Remedy: sshdRemedy(n)}
	}
	arguments := []string{"-F", l.State().ClientConfig(), hostAlias(l.Plan(), n)}
	if len(argv) > 0 {
		// The client looks for options behind the host, too.
		arguments = append(append(arguments, "--"), argv...)
	}
	return exec.Command(program, arguments...), nil
}

// sshdRemedy is how a node gets an SSH server.
func sshdRemedy(n plan.Node) string {
	if n.Runtime.Descriptor().OwnRoot {
		return "use a root file system or an image that has openssh-server (images: {NAME: {ssh: true}}), or use nines exec"
	}
	return fmt.Sprintf("apt-get install openssh-server, then nines restart %s, or use nines exec", n.Name)
}

// WriteConfig writes an ssh_config(5) of the nodes that people can log in to, with the lab's
// identity and the keys by which the nodes are known.
func WriteConfig(l *running.Lab, out io.Writer) error {
	nodes, err := clients(l)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if _, err := io.WriteString(out, clientEntry(l, n)); err != nil {
			return err
		}
	}
	return nil
}

package lab

import (
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// unreachable is an error for a lab without a management network.
func (l *Lab) unreachable() error {
	if l.Plan().Management == nil {
		return exit.Wrongf("lab %q has no management network; write management: {} in its file and nines apply it, or use nines exec and nines shell", l.Name())
	}
	return nil
}

// keyless is an error for a lab that has no keys to log in with, or for a caller who may not see them.
func (l *Lab) keyless() error {
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

// WriteSSHConfig writes an ssh_config(5) of the nodes that people can log in to, with the lab's
// identity and the keys by which the nodes are known.
func (l *Lab) WriteSSHConfig(out io.Writer) error {
	if err := l.unreachable(); err != nil {
		return err
	}
	if err := l.keyless(); err != nil {
		return err
	}
	for _, n := range l.reached() {
		if _, err := io.WriteString(out, l.clientEntry(n)); err != nil {
			return err
		}
	}
	return nil
}

// reached are the nodes that people can log in to, as far as can be seen: without those that lack the
// program. A node that is stopped may have it.
func (l *Lab) reached() []plan.Node {
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

// ansibleInventory is an inventory of Ansible (Ansible's documentation, "How to build your inventory").
type ansibleInventory struct {
	All struct {
		Vars  map[string]string         `yaml:"vars"`
		Hosts map[string]map[string]any `yaml:"hosts"`
	} `yaml:"all"`
}

// WriteAnsible writes an inventory for Ansible of the nodes that people can log in to. Ansible calls
// OpenSSH's client, which finds all else in the lab's own configuration.
func (l *Lab) WriteAnsible(out io.Writer) error {
	if err := l.unreachable(); err != nil {
		return err
	}
	if err := l.keyless(); err != nil {
		return err
	}
	text, err := yaml.Dump(l.inventory(), yaml.WithIndent(2))
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func (l *Lab) inventory() ansibleInventory {
	var inventory ansibleInventory
	inventory.All.Vars = map[string]string{
		"ansible_user": "root", "ansible_connection": "ssh",
		"ansible_ssh_common_args": fmt.Sprintf("-F %q", l.State().ClientConfig()),
	}
	inventory.All.Hosts = map[string]map[string]any{}
	for _, n := range l.reached() {
		vars := map[string]any{"nines_node": n.Name, "nines_runtime": string(n.Runtime)}
		if n.Guest() {
			// Its server has neither scp nor sftp (programs/nines-node/sshd.go); this pipes files into dd.
			vars["ansible_ssh_transfer_method"] = "piped"
		}
		inventory.All.Hosts[hostAlias(l.Plan(), n)] = vars
	}
	return inventory
}

// WriteHosts writes the nodes for this host's /etc/hosts, as NODE.LAB.
func (l *Lab) WriteHosts(out io.Writer) error {
	if err := l.unreachable(); err != nil {
		return err
	}
	_, err := io.WriteString(out, l.Plan().HostsForHost())
	return err
}

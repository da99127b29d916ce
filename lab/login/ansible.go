package login

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// ansibleInventory is an inventory of Ansible (Ansible's documentation, "How to build your inventory").
type ansibleInventory struct {
	All struct {
		Vars  map[string]string         `yaml:"vars"`
		Hosts map[string]map[string]any `yaml:"hosts"`
	} `yaml:"all"`
}

// WriteAnsible writes an inventory for Ansible of the nodes that people can log in to. Ansible calls
// OpenSSH's client, which finds all else in the lab's own configuration.
func WriteAnsible(l *running.Lab, out io.Writer) error {
	nodes, err := clients(l)
	if err != nil {
		return err
	}
	text, err := yaml.Dump(inventory(l, nodes), yaml.WithIndent(2))
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func inventory(l *running.Lab, nodes []plan.Node) ansibleInventory {
	var inventory ansibleInventory
	inventory.All.Vars = map[string]string{
		"ansible_user": "root", "ansible_connection": "ssh",
		"ansible_ssh_common_args": fmt.Sprintf("-F %q", l.State().ClientConfig()),
	}
	inventory.All.Hosts = map[string]map[string]any{}
	for _, n := range nodes {
		vars := map[string]any{"nines_node": n.Name, "nines_runtime": string(n.Runtime)}
		if n.Guest() {
			// Its server has neither scp nor sftp (programs/nines-node/sshd.go); this pipes files into dd.
			vars["ansible_ssh_transfer_method"] = "piped"
		}
		inventory.All.Hosts[hostAlias(l.Plan(), n)] = vars
	}
	return inventory
}

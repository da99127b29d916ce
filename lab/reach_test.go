package lab

import (
	"testing"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
)

// TestFilesArePipedIntoMachines: their SSH server has neither scp nor sftp, which Ansible would try first. It
// is pure.
func TestFilesArePipedIntoMachines(t *testing.T) {
	l := &Lab{Lab: running.New(state.Folder{}, planOf(t, `
name: tbinventory
topology:
  nodes:
    a: {}
    b: {runtime: vm}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
management: {}
`))}
	hosts := l.inventory().All.Hosts
	if len(hosts) != 2 || hosts["a.tbinventory"]["ansible_ssh_transfer_method"] != nil || hosts["b.tbinventory"]["ansible_ssh_transfer_method"] != "piped" {
		t.Errorf("the hosts are %v", hosts)
	}
}

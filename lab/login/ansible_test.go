package login

import (
	"testing"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/plans"
)

// TestFilesArePipedIntoMachines: their SSH server has neither scp nor sftp, which Ansible would try first. It
// is pure.
func TestFilesArePipedIntoMachines(t *testing.T) {
	l := running.New(state.Folder{}, plans.Of(t, `
name: tbinventory
topology:
  nodes:
    a: {}
    b: {runtime: vm}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
management: {}
`))
	hosts := inventory(l, reached(l)).All.Hosts
	if len(hosts) != 2 || hosts["a.tbinventory"]["ansible_ssh_transfer_method"] != nil || hosts["b.tbinventory"]["ansible_ssh_transfer_method"] != "piped" {
		t.Errorf("the hosts are %v", hosts)
	}
}

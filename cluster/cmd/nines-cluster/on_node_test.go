package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
)

// TestANodeIsNeverGuessed: in a container the host's name is the pod's, so what serves a node does not start
// without the node's name.
func TestANodeIsNeverGuessed(t *testing.T) {
	for _, command := range []func() *cobra.Command{newAgentCommand, newPortsCommand, newDevicesCommand} {
		t.Setenv("NODE_NAME", "")
		c := command()
		c.SetArgs([]string{})
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "--node, or with NODE_NAME in the environment") {
			t.Errorf("%s without a node: %v", c.Name(), err)
		}
		t.Setenv("NODE_NAME", "n1")
		if node := command().Flag("node").DefValue; node != "n1" {
			t.Errorf("%s serves node %q", c.Name(), node)
		}
	}
}

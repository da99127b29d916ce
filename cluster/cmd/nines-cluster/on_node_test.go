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

// TestAnIntervalIsAsLongAsARound: in a shorter one, figures would be older than they say.
func TestAnIntervalIsAsLongAsARound(t *testing.T) {
	for interval, wrong := range map[string]bool{"4s": true, "8s": false} {
		c := newAgentCommand()
		// The next thing that is wrong ends it, too.
		c.SetArgs([]string{"--node", "n1", "--tiers", "veth", "--duration", "1s", "--peers", "2", "--interval", interval, "--kubeconfig", "/nowhere"})
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err == nil || strings.Contains(err.Error(), "a round takes 7.5s at least, to measure 1 tier within the node and 2 other nodes") != wrong {
			t.Errorf("every %s: %v", interval, err)
		}
	}
}

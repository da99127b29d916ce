package main

import (
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/exit"
)

// stateVariable names the state folder of all labs. nines sets it when it hands a call over.
const stateVariable = "NINES_STATE_DIR"

// defaultName is the name of a cluster that nobody gave one.
const defaultName = "kube"

// nameFlag adds the flag that chooses a cluster.
func nameFlag(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "name", defaultName, "the cluster's name")
}

func session(name string) (local.Session, error) {
	root := os.Getenv(stateVariable)
	if root == "" {
		return local.Session{}, exit.Wrongf("%s is not set; call this as 'nines cluster', which sets it", stateVariable)
	}
	return local.Session{Root: root, Name: name}, local.CheckName(name)
}

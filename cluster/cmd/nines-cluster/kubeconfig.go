package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/terminal"
)

func newKubeconfigCommand() *cobra.Command {
	var name string
	var path bool
	c := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a kubeconfig for the cluster",
		Long: `Print a kubeconfig for the cluster's administrator. It works on this machine only,
because the API server listens on 127.0.0.1. It is valid until the cluster is removed.`,
		Example: `  nines cluster kubeconfig > kubeconfig && kubectl --kubeconfig kubeconfig get nodes
  export KUBECONFIG=$(nines cluster kubeconfig --path)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			if _, err := s.Record(); err != nil {
				return err
			}
			if path {
				_, err = terminal.Println(c.OutOrStdout(), s.KubeconfigPath())
				return err
			}
			text, err := os.ReadFile(s.KubeconfigPath())
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w; nines cluster status shows the cluster's state", err)
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	nameFlag(c, &name)
	c.Flags().BoolVar(&path, "path", false, "print where the file is instead")
	return c
}

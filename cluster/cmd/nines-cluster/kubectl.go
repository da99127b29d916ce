package main

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
)

func newKubectlCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "kubectl -- ARGUMENT...",
		Short: "Run kubectl for the cluster",
		Long:  `Run the kubectl of the cluster's own release, as the cluster's administrator.`,
		Example: `  nines cluster kubectl -- get pods -A -o wide
  nines cluster kubectl -- apply -f pod.yaml
  nines cluster kubectl --name teaching -- get nodes`,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			if _, err := s.Record(); err != nil {
				return err
			}
			programs, err := local.FindPrograms()
			if err != nil {
				return err
			}
			argv := append([]string{"kubectl"}, args...)
			return syscall.Exec(filepath.Join(programs.Folder, "nines-kube"), argv, append(os.Environ(), "KUBECONFIG="+s.KubeconfigPath()))
		},
	}
	nameFlag(c, &name)
	return c
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/terminal"
)

func newDownCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster with everything in it",
		Long: `Remove the cluster: end its processes, and remove what its journal lists. Nothing else is
touched. It works after any crash, also after kill -9 in the middle of 'nines cluster up'
or of itself.`,
		Example: `  nines cluster down
  nines cluster down --name teaching`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := session(name)
			if err != nil {
				return err
			}
			start := time.Now()
			slow := time.AfterFunc(2*time.Second, func() { terminal.Printf(c.ErrOrStderr(), "taking cluster %s down …\n", name) })
			defer slow.Stop()
			err = s.Down(c.Context(), func(note string) { terminal.Println(c.ErrOrStderr(), note) })
			if err != nil {
				return err
			}
			_, err = terminal.Printf(c.OutOrStdout(), "cluster %s is down, in %s\n", name, time.Since(start).Round(time.Millisecond))
			return err
		},
	}
	nameFlag(c, &name)
	return c
}

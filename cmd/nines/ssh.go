package main

import (
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
)

func newSSHCommand() *cobra.Command {
	var named string
	c := &cobra.Command{
		Use:   "ssh NODE [-- COMMAND [ARGUMENT]...]",
		Short: "Log in to a node by SSH, over the management network",
		Long: `Log in to a node as root by SSH, over the management network of its lab, or run a command
there. OpenSSH's client does it, with the lab's own key, and knows the node by the key that
nines made for it. As always with SSH, a shell in the node reads the command.

A node has a server where it has OpenSSH's and nines is its first process; elsewhere its
own first process has to start one. A virtual machine has one of nines. nines exec needs
no server and no network.`,
		Example: `  nines ssh dut
  nines ssh dut -- ip addr
  nines ssh --lab quickstart loadgen -- tail -f /var/log/syslog
  nines inspect --format ssh >> ~/.ssh/config && scp results.csv dut.quickstart:/tmp`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return exit.Wrongf("name a node, as in: nines ssh dut")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := labByFlag(named)
			if err != nil {
				return err
			}
			cmd, err := l.SSH(args[0], args[1:])
			if err != nil {
				return err
			}
			cmd.Env = os.Environ()
			return replaceProcess(cmd)
		},
	}
	labFlag(c, &named)
	return c
}

package main

import (
	"os"

	"nines.dev/nines/lab/login"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
)

func newSSHCommand() *cobra.Command {
	var named string
	c := &cobra.Command{
		Use:   "ssh NODE [[--] COMMAND [ARGUMENT]...]",
		Short: "Log in to a node by SSH, over the management network",
		Long: `Log in to a node as root by SSH, over the management network of its lab, or run a command
there. nines calls OpenSSH's client with the lab's own key, and checks the node's host key. As
usual with SSH, a shell in the node parses the command.

A node has a server if OpenSSH's server is installed there and nines-init is its first
process; otherwise its own first process must start one. A virtual machine has nines' own
server. nines exec needs no server and no network.`,
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
		RunE: func(c *cobra.Command, args []string) error {
			argv, err := commandOf(c, args[1:])
			if err != nil {
				return err
			}
			l, err := labByFlag(named)
			if err != nil {
				return err
			}
			cmd, err := login.Command(l.Lab, args[0], argv)
			if err != nil {
				return err
			}
			cmd.Env = os.Environ()
			return replaceProcess(cmd)
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command is its own
	labFlag(c, &named)
	return c
}

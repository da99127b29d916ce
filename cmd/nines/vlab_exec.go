package main

import (
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
	"nines.dev/nines/vm/vlab"
)

func newVlabExecCommand() *cobra.Command {
	var flags laboratoryFlags
	var env []string
	c := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGUMENT]...",
		Short: "Run a command in a new laboratory, as root",
		Long: `Start a laboratory, run a command in it as root, and end it. The command has nines in its
PATH, and its standard input, output and error are yours. nines vlab exec exits with its
exit code. --copy gives the laboratory files of this host, at the same paths.`,
		Example: `  nines vlab exec -- ip -br link
  nines vlab exec --append isolcpus=2-3 -- cat /sys/devices/system/cpu/isolated
  nines vlab exec --kernel rt13 --cgroup hybrid -- sh -c 'uname -a; ls /sys/fs/cgroup'
  nines vlab exec --copy . -- nines plan lab.yaml          # files from here
  go test -c ./lab/link && nines vlab exec --copy . -- ./link.test -test.run TestLab`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Wrongf("name a command, as in: nines vlab exec -- ip link")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return flags.inLaboratory(c.Context(), c.ErrOrStderr(), func(lab *vlab.Laboratory) error {
				code, err := lab.Do(c.Context(), guestagent.Request{Argv: args, Env: env, Dir: flags.workingFolder()},
					guestagent.Streams{Stdin: c.InOrStdin(), Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr()})
				if err == nil && code != 0 {
					err = commandFailed(code)
				}
				return err
			})
		},
	}
	flags.add(c)
	c.Flags().StringArrayVar(&env, "env", nil, "set NAME=VALUE for the command (repeatable)")
	return c
}

func newVlabShellCommand() *cobra.Command {
	var flags laboratoryFlags
	c := &cobra.Command{
		Use:   "shell",
		Short: "Open a shell in a new laboratory",
		Long: `Start a laboratory, open a shell in it as root, and end it when the shell ends.
nines is in the PATH; what is changed is gone afterwards.`,
		Example: `  nines vlab shell
  nines vlab shell --kernel rt13 --append "isolcpus=2-3" --copy examples`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.inLaboratory(c.Context(), c.ErrOrStderr(), func(lab *vlab.Laboratory) error {
				return labShell(c, lab, flags.workingFolder())
			})
		},
	}
	flags.add(c)
	return c
}

// labShell runs a shell on this terminal, or on standard input without one.
func labShell(c *cobra.Command, lab *vlab.Laboratory, dir string) error {
	request := guestagent.Request{Argv: []string{"bash", "-l"}, Dir: dir, Env: []string{`PS1=vlab:\w# `}}
	streams := guestagent.Streams{Stdin: c.InOrStdin(), Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr()}
	if isTerminal(os.Stdin) {
		request.Argv = []string{"bash", "--norc"}
		restore, err := vm.PassTerminal(&request, &streams)
		if err != nil {
			return err
		}
		defer restore()
	}
	_, err := lab.Do(c.Context(), request, streams)
	return err
}

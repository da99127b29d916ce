package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/running"
)

func newExecCommand() *cobra.Command {
	var named, dir string
	var env []string
	var all bool
	c := &cobra.Command{
		Use:        "exec NODE|--all [--] COMMAND [ARGUMENT]...",
		Short:      "Run a command in a node, or in all",
		SuggestFor: []string{"pingall"},
		Long: `Run a command in a node: in its namespaces and file system, on its CPUs and with its
environment. nines exec exits with the exit code of the command. Options of nines are
before the command; those behind it are the command's own.

--all runs it in every node, 32 at a time and without input, and prints the node's name before
each line. The exit code is 0 if the command succeeded in every node, otherwise the one
of the first node in which it failed, as nines inspect lists them; the last line names all of these.`,
		Example: `  nines exec dut -- ip addr
  nines exec loadgen ping -c3 198.18.0.2
  nines exec --lab quickstart dut -- sh -c 'cat /proc/net/dev'
  nines exec loadgen --env DEBUG=1 -- ./client
  nines exec --all -- ip -brief addr
  tar c . | nines exec dut -- tar x -C /tmp`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) == 0:
				return exit.Wrongf("name a command, as in: nines exec --all -- ip addr")
			case !all && len(args) < 2:
				return exit.Wrongf("name a node and a command, as in: nines exec dut -- ip addr")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if all {
				return execAll(c, named, args, running.ExecOptions{Dir: dir, Env: env})
			}
			argv, err := commandOf(c, args[1:])
			if err == nil && len(argv) == 0 {
				err = exit.Wrongf("name a command, as in: nines exec dut -- ip addr")
			}
			if err != nil {
				return err
			}
			return become(c, named, args[0], argv, running.ExecOptions{Dir: dir, Env: env})
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command is its own
	labFlag(c, &named)
	c.Flags().BoolVar(&all, "all", false, "run the command in all nodes")
	c.Flags().StringVar(&dir, "dir", "", "the working folder in the node (default: /)")
	c.Flags().StringArrayVar(&env, "env", nil, "set NAME=VALUE for the command (repeatable)")
	for _, habit := range []struct{ name, short string }{{"interactive", "i"}, {"tty", "t"}} { // of docker and kubectl: exec -it
		c.Flags().BoolP(habit.name, habit.short, false, "no effect: the command has nines' input and terminal")
		c.Flag(habit.name).Hidden = true
	}
	return c
}

// commandOf is the command behind a node's name, which may have more of nines' options before it.
func commandOf(c *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return args, nil
	}
	if err := c.Flags().Parse(args); err != nil {
		return nil, exit.With(exit.Wrong, err)
	}
	return c.Flags().Args(), nil
}

// become replaces nines by a command in a node, which so gets nines' terminal and signals, and sets
// its exit code.
func become(c *cobra.Command, named, node string, argv []string, options running.ExecOptions) error {
	l, err := labByFlag(named)
	if err != nil {
		return err
	}
	cmd, err := l.Command(c.Context(), node, argv, options)
	if err != nil {
		return err
	}
	return replaceProcess(cmd)
}

// replaceProcess calls execve(2). Go does not set signals to be ignored, so the command ignores
// only those that nines was started with as ignored.
func replaceProcess(cmd *exec.Cmd) error {
	return fmt.Errorf("run %s: %w", cmd.Path, syscall.Exec(cmd.Path, cmd.Args, cmd.Env))
}

// Command nines-script is what the scripts of an experiment call in their node: for variables,
// barriers, uploads, and commands that go on beside the script. By the names pos_get_variable,
// pos_sync and so on it takes what scripts that were written for pos give.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/script/wire"
	"nines.dev/nines/terminal/command"
)

func main() { os.Exit(execute(os.Args, os.Stdout, os.Stderr)) }

// execute runs a call, of which the first word may be an alias.
func execute(words []string, stdout, stderr io.Writer) int {
	args := words[1:]
	if verb, known := wire.Aliases[filepath.Base(words[0])]; known {
		args = append([]string{verb}, args...)
	}
	return command.Run(newCommand(), args, stdout, stderr)
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   wire.Command,
		Short: "Variables, barriers, uploads and background commands for scripts in nodes",
		Long: `Scripts in the nodes of an experiment call it for variables, barriers, uploads and
background commands. docs/scripts.md describes it.

Scripts written for pos call it as pos_get_variable, pos_set_variable, pos_sync,
pos_upload, pos_run, pos_wait and pos_kill.`,
		Example: `  rate=$(nines-script get-variable rate)
  nines-script sync --tag started
  nines-script upload latencies.csv`,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newGet(), newSet(), newSync(), newUpload(), newRun(), newEnd(wire.Wait), newEnd(wire.Kill))
	return root
}

// scopes are the flags that choose whose variable is meant.
type scopes struct{ global, loop bool }

func (s *scopes) scope() wire.Scope {
	switch {
	case s.loop:
		return wire.ScopeLoop
	case s.global:
		return wire.ScopeGlobal
	}
	return wire.ScopeNode
}

func newGet() *cobra.Command {
	var from scopes
	c := &cobra.Command{
		Use: "get-variable KEY", Short: "Print a variable: the node's own, otherwise the global one",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := ask(c.Context(), wire.Request{Verb: wire.Get, Key: args[0], Scope: from.scope()}, nil)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), value+"\n")
			return err
		},
	}
	c.Flags().BoolVarP(&from.global, "from-global", "g", false, "only global variables")
	c.Flags().BoolVarP(&from.loop, "from-loop", "l", false, "only swept variables")
	c.MarkFlagsMutuallyExclusive("from-global", "from-loop")
	c.Flags().BoolP("remote", "r", false, "accepted for pos; no effect")
	return c
}

func newSet() *cobra.Command {
	var to scopes
	c := &cobra.Command{
		Use: "set-variable KEY VALUE", Short: "Set a variable of the node, or a global one",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			_, err := ask(c.Context(), wire.Request{Verb: wire.Set, Key: args[0], Value: args[1], Scope: to.scope()}, nil)
			return err
		},
	}
	c.Flags().BoolVarP(&to.global, "as-global", "g", false, "for all nodes")
	c.Flags().BoolVarP(&to.loop, "as-loop", "l", false, "for all nodes, beside what the sweep varies")
	c.MarkFlagsMutuallyExclusive("as-global", "as-loop")
	c.Flags().BoolP("remote", "r", false, "accepted for pos; no effect")
	return c
}

func newSync() *cobra.Command {
	var tag, timeout string
	c := &cobra.Command{
		Use: "sync", Short: "Wait at a barrier for the scripts of all nodes",
		Long: `Wait until the scripts of all nodes have reached the barrier. If one of them has ended, this
fails at once and names its node.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop, err := within(c.Context(), timeout)
			if err != nil {
				return err
			}
			defer stop()
			_, err = ask(ctx, wire.Request{Verb: wire.Sync, Name: tag}, nil)
			return err
		},
	}
	c.Flags().StringVarP(&tag, "tag", "t", "", "the barrier's name, if there are several")
	c.Flags().StringVar(&timeout, "timeout", "", "give up after so many seconds, or after a time such as 2m")
	ignoreLoop(c)
	return c
}

// within ends a context after a time: seconds, as for pos, or a number with a unit; empty: never.
func within(ctx context.Context, timeout string) (context.Context, context.CancelFunc, error) {
	if timeout == "" {
		return ctx, func() {}, nil
	}
	limit, err := time.ParseDuration(timeout)
	if err != nil {
		limit, err = time.ParseDuration(timeout + "s")
	}
	if err != nil || limit <= 0 {
		return nil, nil, exit.Wrongf("--timeout %q: give seconds, or a time with a unit, as in: sync --timeout 2m", timeout)
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not all nodes' scripts have reached the barrier within %v", limit))
	return ctx, stop, nil
}

func newUpload() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "upload FILE...", Short: "Put files into the result",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if name != "" && len(args) > 1 {
				return exit.Wrongf("--name allows one file, got %d", len(args))
			}
			for _, path := range args {
				if err := upload(c.Context(), path, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&name, "name", "n", "", "the file's name in the result (default: its own)")
	c.Flags().StringVar(&name, "outfile", "", "the same, for pos")
	ignoreLoop(c)
	return c
}

func newRun() *cobra.Command {
	c := &cobra.Command{
		Use: "run NAME -- COMMAND [ARGUMENT]...", Short: "Start a command in the background",
		Long: `Start a command in the background. It runs until it exits, kill ends it, or the scripts
of all nodes have ended. Its output and status are uploaded as NAME.stdout, NAME.stderr
and NAME.status.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 || c.ArgsLenAtDash() != 1 {
				return exit.Wrongf("give a name and a command, as in: run server -- iperf3 -s")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			_, err = ask(c.Context(), wire.Request{Verb: wire.Run, Name: args[0], Argv: args[1:], Dir: dir, Env: os.Environ()}, nil)
			return err
		},
	}
	ignoreLoop(c)
	return c
}

func newEnd(verb wire.Verb) *cobra.Command {
	short := map[wire.Verb]string{
		wire.Wait: "Wait for a command started with run",
		wire.Kill: "End a command started with run, and wait for it",
	}[verb]
	c := &cobra.Command{
		Use: string(verb) + " NAME", Short: short,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			status, err := ask(c.Context(), wire.Request{Verb: verb, Name: args[0]}, nil)
			if err == nil && verb == wire.Wait && status != "0" {
				err = exit.With(exit.Failed, fmt.Errorf("the command %s ended with status %s", args[0], status))
			}
			return err
		},
	}
	ignoreLoop(c)
	return c
}

// ignoreLoop takes a flag with which pos says that something belongs to a run of the loop; here
// everything belongs to the trial that it happens in.
func ignoreLoop(c *cobra.Command) {
	c.Flags().BoolP("loop", "l", false, "accepted for pos; no effect")
}

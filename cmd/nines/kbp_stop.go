package main

import (
	"errors"

	"github.com/spf13/cobra"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/terminal"
)

func newKbpStopCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "stop [NAME]...",
		Short: "Restore what 'nines kbp start' changed",
		Long: `Restore everything that nines kbp start changed, and end the polling. This also works
after a crash of nines or of the poller, and if the container is gone. Settings that another program has changed since stay unchanged, and nines reports them.`,
		Example: `  nines kbp stop web
  nines kbp stop --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exit.Wrongf("name the sessions to stop, or use --all; nines kbp status lists them")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := needRoot("changing how a container receives"); err != nil {
				return err
			}
			sessions := make([]busypoll.Session, len(args))
			for i, name := range args {
				sessions[i] = busypoll.Session{Root: state.Root(), Name: name}
			}
			if all {
				var err error
				if sessions, err = busypoll.Sessions(state.Root()); err != nil {
					return err
				}
			}
			var failures []error
			for _, s := range sessions {
				err := s.Stop(c.Context(), func(text string) { terminal.Println(c.ErrOrStderr(), "nines:", text) })
				if errors.Is(err, busypoll.ErrNoSession) {
					err = exit.With(exit.Wrong, err)
				}
				failures = append(failures, err)
			}
			return errors.Join(failures...)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "stop all")
	return c
}

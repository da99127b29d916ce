package main

import (
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/vm/agent"
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
				return usageError{errors.New("name a command, as in: nines vlab exec -- ip link")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return flags.inLaboratory(c.Context(), c.ErrOrStderr(), func(lab *vlab.Laboratory) error {
				code, err := lab.Do(c.Context(), agent.Request{Argv: args, Env: env, Dir: flags.workingFolder()},
					agent.Streams{Stdin: c.InOrStdin(), Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr()})
				if err == nil && code != 0 {
					err = commandError{code}
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

// labShell is a shell on this terminal, or on standard input where there is none.
func labShell(c *cobra.Command, lab *vlab.Laboratory, dir string) error {
	request := agent.Request{Argv: []string{"bash", "-l"}, Dir: dir, Env: []string{`PS1=vlab:\w# `}}
	streams := agent.Streams{Stdin: c.InOrStdin(), Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr()}
	terminal := int(os.Stdin.Fd())
	before, err := unix.IoctlGetTermios(terminal, unix.TCGETS)
	if err != nil {
		_, err := lab.Do(c.Context(), request, streams)
		return err
	}
	size := terminalSize(terminal)
	size.Term = os.Getenv("TERM")
	request.Argv, request.Terminal = []string{"bash", "--norc"}, &size
	// Every key is the guest's, also Ctrl-C: cfmakeraw(3).
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	if err := unix.IoctlSetTermios(terminal, unix.TCSETS, &raw); err != nil {
		return err
	}
	defer func() { _ = unix.IoctlSetTermios(terminal, unix.TCSETS, before) }()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	sizes, done := make(chan agent.Terminal), make(chan struct{})
	defer close(done)
	go func() {
		defer close(sizes)
		for {
			select {
			case <-resized:
				select {
				case sizes <- terminalSize(terminal):
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	streams.Resized = sizes
	_, err = lab.Do(c.Context(), request, streams)
	return err
}

func terminalSize(terminal int) agent.Terminal {
	size, err := unix.IoctlGetWinsize(terminal, unix.TIOCGWINSZ)
	if err != nil {
		return agent.Terminal{Rows: 24, Columns: 80}
	}
	return agent.Terminal{Rows: size.Row, Columns: size.Col}
}

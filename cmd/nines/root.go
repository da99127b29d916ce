package main

import (
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/terminal/command"
)

// execute runs one command line and returns its exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	unix.Umask(usualMask)
	root := newRootCommand()
	addCompletion(root)
	return command.Run(root, args, stdout, stderr)
}

// usualMask is the umask that systemd gives services. nines and all that it starts have it, not the caller's: files of
// nodes, images and results have the modes that they are made with, and what is secret is made so that only root reads
// it.
const usualMask = 0o022

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nines",
		Short: "Build container networks, measure every packet, explain the slow ones",
		Long: `nines builds container networks on a Linux host, keeps the host's noise away from them,
measures the latency of every packet, and explains the slow ones.

One file describes an experiment: nodes, links, traffic, and what to vary. One command
runs it and leaves a folder with everything that was measured.`,
		Example: `  nines try veth bridge                           # which is faster? without a file
  nines run examples/quickstart.yaml              # build, measure, take down
  nines run lab.yaml --set traffic.rate_pps=1000  # override any key of the file
  nines up lab.yaml && nines exec dut -- ip addr  # look around in a lab
  nines down                                      # restore the host`,
		Version: version,
	}
	addVerbs(root)
	addOffers(root)
	return root
}

// addCompletion adds cobra's completion command, and lets it refuse a shell that it does not know,
// as the other commands with subcommands do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

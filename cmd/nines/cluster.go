package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
)

// newClusterCommand hands the call over to nines-cluster, a program of its own: nines stays without
// the modules of Kubernetes.
func newClusterCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cluster VERB",
		Short: "Make a Kubernetes cluster on this machine, and place pods in it by measured latency",
		Long: `Make a Kubernetes cluster on this machine: a control plane and real kubelets with
containerd, each in its own namespaces and control groups. Use it to test, to try
things out and to teach. It is undone like a lab, also after a crash.

  up           make a cluster
  status       show the state of its members and their programs
  kubeconfig   print a kubeconfig for it
  kubectl      run kubectl for it
  explain      show why each node does or does not meet a pod's latency request
  agent        measure a node; the DaemonSet of cluster/deploy runs it
  ports        give a node's ports to pods by claims; cluster/deploy/ports runs it
  devices      give a node's ports to the kubelet; cluster/deploy/devices runs it
  image        write the image of the agent, or of the scheduler, to a file
  uninstall    remove from a cluster what agents and drivers have written
  down         remove it

It needs root, control groups (version 2 or 1), and the cluster's programs, which 'make
setup-cluster' builds once. 'nines cluster VERB --help' shows more about each verb: its
flags and examples.`,
		Example: `  nines cluster up --nodes 2
  nines cluster kubectl -- get nodes
  nines cluster down`,
		// They are nines-cluster's.
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			program, err := node.ClusterProgram()
			switch {
			case err == nil:
				return handOver(c.Context(), program, args)
			case len(args) == 0, args[0] == "--help", args[0] == "-h":
				return c.Help()
			}
			return err
		},
	}
}

// handOver becomes nines-cluster. It finds in its environment what only nines knows: the folder of
// all state, and that of the programs.
func handOver(ctx context.Context, program string, args []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	environment := append(os.Environ(), "NINES_STATE_DIR="+state.Root(), "NINES_LIBEXEC="+filepath.Dir(program))
	return os.NewSyscallError("exec", syscall.Exec(program, append([]string{program}, args...), environment))
}

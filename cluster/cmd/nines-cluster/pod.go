package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/pod"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/terminal"
)

// newPodCommand has the verbs by which nines makes and uses the pods of experiments. Users have
// `runtime: pod` in an experiment file.
func newPodCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pod VERB", Hidden: true, Args: cobra.NoArgs,
		Short: "Make and use the pods of an experiment; nines calls this for nodes with runtime: pod",
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		&cobra.Command{
			Use: "start ORDER POD", Args: cobra.ExactArgs(2), Short: "Make a pod of the file ORDER, and write into the file POD what it is when it runs",
			RunE: func(c *cobra.Command, args []string) error {
				return startPod(c.Context(), args[0], args[1], c.OutOrStdout())
			},
		},
		&cobra.Command{
			Use: "exec POD -- ARGUMENT...", Args: cobra.MinimumNArgs(2), Short: "Run a command in a pod",
			RunE: func(c *cobra.Command, args []string) error { return execInPod(c.Context(), args[0], args[1:]) },
		},
		&cobra.Command{
			Use: "relay POD SOCKET -- ARGUMENT...", Args: cobra.MinimumNArgs(3), Short: "Run an engine in a pod, and serve its control socket here",
			RunE: func(c *cobra.Command, args []string) error {
				return relayEngine(c.Context(), args[0], args[1], args[2:])
			},
		},
		&cobra.Command{
			Use: "keep POD", Args: cobra.ExactArgs(1), Short: "Wait until a pod has ended, and print how",
			RunE: func(c *cobra.Command, args []string) error {
				client, p, err := readPod(args[0])
				if err != nil {
					return err
				}
				return client.Keep(c.Context(), p)
			},
		},
		&cobra.Command{
			Use: "lacks", Args: cobra.NoArgs, Short: "Print which of the DeviceClasses on standard input the cluster lacks",
			RunE: func(c *cobra.Command, _ []string) error {
				var asked node.ClassesAsked
				if err := json.NewDecoder(c.InOrStdin()).Decode(&asked); err != nil {
					return exit.Wrongf("read which classes are asked for: %w", err)
				}
				client, err := pod.Connect(asked.PodPlace)
				if err != nil {
					return err
				}
				return json.NewEncoder(c.OutOrStdout()).Encode(client.Lacks(c.Context(), asked.Classes))
			},
		},
		&cobra.Command{
			Use: "delete", Args: cobra.NoArgs, Short: "Delete the pod that standard input describes, if it is the lab's",
			RunE: func(c *cobra.Command, _ []string) error {
				var r node.PodRemoval
				if err := json.NewDecoder(c.InOrStdin()).Decode(&r); err != nil {
					return exit.Wrongf("read the pod to delete: %w", err)
				}
				client, err := pod.Connect(r.PodPlace)
				if err != nil {
					return err
				}
				return client.Delete(c.Context(), r, func(note string) { terminal.Println(c.OutOrStdout(), note) })
			},
		},
	)
	return c
}

func startPod(ctx context.Context, from, to string, notes io.Writer) error {
	order, err := replace.Read[node.PodOrder](from)
	if err != nil {
		return exit.With(exit.Wrong, err)
	}
	client, err := pod.Connect(order.PodPlace)
	if err != nil {
		return err
	}
	p, err := client.Start(ctx, order, func(note string) { terminal.Println(notes, note) })
	if err != nil {
		return err
	}
	return replace.JSON(to, p, 0o600)
}

// execInPod ends with the exit code of the command, and says nothing of its own about it.
func execInPod(ctx context.Context, file string, argv []string) error {
	client, p, err := readPod(file)
	if err != nil {
		return err
	}
	err = client.Exec(ctx, p, argv, pod.Streams{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if ended := new(pod.EndedError); errors.As(err, &ended) {
		os.Exit(ended.Code)
	}
	return err
}

func relayEngine(ctx context.Context, file, socket string, argv []string) error {
	client, p, err := readPod(file)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("serve the engine's socket: %w", err)
	}
	defer listener.Close()
	return pod.Relay(ctx, listener, func(ctx context.Context, s pod.Streams) error { return client.Exec(ctx, p, argv, s) }, os.Stderr)
}

func readPod(file string) (*pod.Client, node.Pod, error) {
	p, err := replace.Read[node.Pod](file)
	if err != nil {
		return nil, p, exit.With(exit.Wrong, err)
	}
	client, err := pod.Connect(p.PodPlace)
	return client, p, err
}

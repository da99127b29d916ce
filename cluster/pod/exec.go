package pod

import (
	"context"
	"errors"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"nines.dev/nines/lab/node"
)

// Streams are what a command in a pod reads and writes.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// EndedError is a command in a pod that ended with another exit code than 0.
type EndedError struct{ Code int }

func (e *EndedError) Error() string { return fmt.Sprintf("it ended with exit code %d", e.Code) }

// ExitCode is the command's.
func (e *EndedError) ExitCode() int { return e.Code }

// Exec runs a command in a pod, over the API server, until it ends. When its input ends, the
// command's does: with a WebSocket of the protocol v5 (Kubernetes 1.31), or by SPDY.
func (c *Client) Exec(ctx context.Context, p node.Pod, argv []string, s Streams) error {
	url := c.kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(p.Namespace).Name(p.Name).SubResource("exec").
		VersionedParams(&v1.PodExecOptions{Container: container, Command: argv, Stdin: s.Stdin != nil, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	socket, err := remotecommand.NewWebSocketExecutor(c.config, "GET", url.String())
	if err != nil {
		return fmt.Errorf("run %s in pod %s/%s: %w", argv[0], p.Namespace, p.Name, err)
	}
	older, err := remotecommand.NewSPDYExecutor(c.config, "POST", url)
	if err != nil {
		return fmt.Errorf("run %s in pod %s/%s: %w", argv[0], p.Namespace, p.Name, err)
	}
	either, err := remotecommand.NewFallbackExecutor(socket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return err
	}
	err = either.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr})
	if ended := new(exec.CodeExitError); errors.As(err, ended) {
		return &EndedError{ended.Code}
	}
	if err != nil {
		return fmt.Errorf("run %s in pod %s/%s: %w", argv[0], p.Namespace, p.Name, err)
	}
	return nil
}

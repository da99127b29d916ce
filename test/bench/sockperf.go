package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/running"
)

// sockperfPayloadBytes is the UDP payload of a 64-byte frame, the same as ours.
const sockperfPayloadBytes = 18

const sockperfPort = "11111"

// sockperfServer runs `sockperf server` in a node until the returned function is called, which
// returns the server's output.
func sockperfServer(ctx context.Context, l *lab.Lab, at end) (stop func() (string, error), err error) {
	server, err := l.Command(ctx, at.node, []string{"sockperf", "server", "-i", at.ip, "-p", sockperfPort}, running.ExecOptions{CPUs: []int{at.cpu}, Scheduled: true})
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the sockperf server: %w", err)
	}
	time.Sleep(300 * time.Millisecond) // it does not report when it is ready
	return func() (string, error) {
		// On SIGINT it prints its counters.
		if err := server.Process.Signal(syscall.SIGINT); err != nil {
			return "", err
		}
		var exit *exec.ExitError
		if err := server.Wait(); err != nil && !errors.As(err, &exit) {
			return "", err
		}
		return said.String(), nil
	}, nil
}

func sockperfClient(ctx context.Context, l *lab.Lab, at end, args ...string) (string, error) {
	args = append([]string{"sockperf"}, args...)
	args = append(args, "-p", sockperfPort, "-m", strconv.Itoa(sockperfPayloadBytes))
	client, err := l.Command(ctx, at.node, args, running.ExecOptions{CPUs: []int{at.cpu}, Scheduled: true})
	if err != nil {
		return "", err
	}
	out, err := client.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("sockperf %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

var (
	messageRate = regexp.MustCompile(`Message Rate is (\d+) \[msg/sec\]`)
	handled     = regexp.MustCompile(`Total (\d+) messages received and handled`)
	medianUsec  = regexp.MustCompile(`percentile 50\.000 = +([0-9.]+)`)
)

func sockperfFigure(pattern *regexp.Regexp, out string) (float64, error) {
	match := pattern.FindStringSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("sockperf's output has no %q:\n%s", pattern, out)
	}
	return strconv.ParseFloat(match[1], 64)
}

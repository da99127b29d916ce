package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// readyEvery is the pause between two looks whether a service is ready.
const readyEvery = 50 * time.Millisecond

// awaitReady returns when a service is ready, as its file says.
func awaitReady(ctx context.Context, l *running.Lab, n plan.Node, s spec.Service, o *output) error {
	r := s.Ready
	if r == nil {
		return nil
	}
	var what string
	var holds func(context.Context) error
	switch {
	case r.Output != "":
		what = fmt.Sprintf("its output has %q", r.Output)
		holds = func(context.Context) error {
			if !o.found() {
				return errors.New("it has not")
			}
			return nil
		}
	case r.Port != "":
		what = fmt.Sprintf("a program listens at port %s", r.Port)
		holds = func(context.Context) error { return listens(l.PID(n.Name), r.Port) }
	case r.File != "":
		what = fmt.Sprintf("the file %s is there", r.File)
		holds = func(context.Context) error { return isThere(l.PID(n.Name), r.File) }
	default:
		what = fmt.Sprintf("%q ends with 0", r.Command)
		holds = func(ctx context.Context) error { return run(ctx, l, n, r.Command) }
	}
	return await.Until(ctx, await.Condition{What: what, Within: r.Patience(), Every: readyEvery, Holds: holds})
}

func run(ctx context.Context, l *running.Lab, n plan.Node, argv []string) error {
	cmd, err := l.Command(ctx, n.Name, argv, running.ExecOptions{})
	if err != nil {
		return err
	}
	var said node.Tail
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, said.Line())
	}
	return nil
}

// The states of sockets that wait for packets or connections (include/net/tcp_states.h): a UDP socket is closed until it
// is connected.
const (
	tcpListen = 0x0a
	udpBound  = 0x07
)

// listens looks for a socket at a port in the network namespace of a process.
func listens(pid int, port spec.Port) error {
	number, protocol, err := port.Parse()
	if err != nil {
		return await.Never(err)
	}
	wanted := map[string]uint64{"tcp": tcpListen, "udp": udpBound}[protocol]
	for _, family := range []string{"", "6"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s%s", pid, protocol, family))
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return err
		}
		found := hasSocket(bufio.NewScanner(file), uint64(number), wanted)
		_ = file.Close()
		if found {
			return nil
		}
	}
	return errors.New("no program does")
}

// hasSocket reads lines of /proc/net/tcp or udp: "sl local_address rem_address st …", addresses as HEX:PORT.
func hasSocket(lines *bufio.Scanner, port, state uint64) bool {
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 {
			continue
		}
		_, local, _ := strings.Cut(fields[1], ":")
		at, err := strconv.ParseUint(local, 16, 16)
		in, stateErr := strconv.ParseUint(fields[3], 16, 8)
		if err == nil && stateErr == nil && at == port && in == state {
			return true
		}
	}
	return false
}

// isThere looks for a file as the node sees it.
func isThere(pid int, path string) error {
	file, err := node.OpenInside(pid, path, unix.O_PATH)
	if err != nil {
		return &os.PathError{Op: "look for", Path: path, Err: err}
	}
	return file.Close()
}

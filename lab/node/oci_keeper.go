package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// mostContainerOutput is how much of a container's output a file has, of which there are two: the newest is kept. The
// folder of a lab is in memory on most hosts.
const mostContainerOutput = 2 << 20

// keep starts the keeper of the container's output, programs/nines-init/keep.c, on the calling thread, and in it the
// command that makes the container, if there is one: then the keeper also notes how the container's first process ends.
// It returns when the command has ended, and its error is that of the command.
//
//	container ─▸ FIFO ─▸ keeper ─▸ the log, and the one before
//
// The keeper ends with the container, and holds its token as the daemons of managers do.
func (c ociContainer) keep(ctx context.Context, command ...string) error {
	if err := PutAside(c.log); err != nil {
		return err
	}
	if err := unix.Mkfifo(c.output(), 0o600); err != nil {
		return fmt.Errorf("make a pipe for its output: %w", err)
	}
	report, child, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	cmd := exec.Command(c.init, append([]string{"keep", c.log, strconv.Itoa(mostContainerOutput), c.ended(), c.output()}, command...)...)
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "NINES_TOKEN="+c.token), []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	child.Close()
	if err != nil {
		return fmt.Errorf("start the keeper of its output: %w", err)
	}
	fault.Point("after the keeper of a container's output")
	go func() { _ = cmd.Wait() }() // it outlives this call, and perhaps nines
	stop := context.AfterFunc(ctx, func() { _ = report.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(report).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return errors.New("the keeper of its output ended at once")
	case err != nil:
		return err
	}
	// The keeper's own CPUs are those of the host's programs; the container's are those of its control group.
	if len(c.cpus) > 0 {
		var set unix.CPUSet
		for _, cpu := range c.cpus {
			set.Set(cpu)
		}
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("restrict the keeper of its output to the host's own CPUs: %w", err)
		}
	}
	if code := strings.TrimSpace(line); code != "0" {
		return errors.New("exit status " + code)
	}
	return nil
}

// settled waits for a moment until all is written that a first process has left which ended: what it printed last, and
// how it ended.
func (c ociContainer) settled() {
	_, _ = await.InTime(context.Background(), await.Condition{ // managers note no end
		What: "the keeper has noted its end", Within: settling, Every: time.Millisecond,
		Holds: func(context.Context) error {
			_, err := os.Stat(c.ended())
			return await.Answer(err == nil, nil)
		},
	})
}

// Ending is how a node's first process ended, as its keeper has noted: "ended with exit code 3"; empty if nobody has, as
// it runs, or has none.
func (p Place) Ending(n plan.Node) string {
	if n.OCI == nil {
		return ""
	}
	text, err := os.ReadFile(p.bundle(n).ended())
	if err != nil {
		return ""
	}
	how, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	value, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return ""
	case how == "signal":
		return proc.EndedBy(unix.Signal(value))
	}
	return proc.EndedWith(value)
}

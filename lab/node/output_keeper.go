package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/proc"
)

// mostOutput is how much of a node's output a file has, of which there are two: the newest is kept. The folder of a lab is
// in memory on most hosts.
const mostOutput = 2 << 20

// outputKeeper is programs/nines-init/keep.c, which bounds what the first process of a container prints, or a guest on its
// console:
//
//	container, QEMU ─▸ pipe ─▸ keeper ─▸ the log, and the one before
type outputKeeper struct {
	init string
	// log is the bounded log, ended the file that says how the first process ended, pipe the FIFO.
	log, ended, pipe string
	token            string
	// cpus are those that it may run on; empty: all.
	cpus []int
}

// start starts the keeper on the calling thread, and in it a command, if there is one. It returns when the command has
// ended, and its error is that of the command. The keeper ends when nobody writes to the pipe any longer.
func (k outputKeeper) start(ctx context.Context, command ...string) (proc.Identity, error) {
	var id proc.Identity
	if err := PutAside(k.log); err != nil {
		return id, err
	}
	if err := os.Remove(k.pipe); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if err := unix.Mkfifo(k.pipe, 0o600); err != nil {
		return id, fmt.Errorf("make a pipe for its output: %w", err)
	}
	report, child, err := os.Pipe()
	if err != nil {
		return id, err
	}
	defer report.Close()
	cmd := exec.Command(k.init, append([]string{"keep", k.log, strconv.Itoa(mostOutput), k.ended, k.pipe}, command...)...)
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "NINES_TOKEN="+k.token), []*os.File{child}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	child.Close()
	if err != nil {
		return id, fmt.Errorf("start the keeper of its output: %w", err)
	}
	fault.Point("after the keeper of a node's output")
	id, err = proc.Of(cmd.Process.Pid) // not waited for yet, so its PID is its own
	go func() { _ = cmd.Wait() }()     // it outlives this call, and perhaps nines
	if err != nil {
		return id, err
	}
	stop := context.AfterFunc(ctx, func() { _ = report.SetReadDeadline(time.Now()) })
	defer stop()
	line, err := bufio.NewReader(report).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return id, ctx.Err()
	case errors.Is(err, io.EOF):
		return id, errors.New("the keeper of its output ended at once")
	case err != nil:
		return id, err
	}
	// The keeper's own CPUs are those of the host's programs; the container's are those of its control group.
	if len(k.cpus) > 0 {
		var set unix.CPUSet
		for _, cpu := range k.cpus {
			set.Set(cpu)
		}
		if err := unix.SchedSetaffinity(id.PID, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return id, fmt.Errorf("restrict the keeper of its output to the host's own CPUs: %w", err)
		}
	}
	if code := strings.TrimSpace(line); code != "0" {
		return id, errors.New("exit status " + code)
	}
	return id, nil
}

package node

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/kernel/thread"
	"nines.dev/nines/spec"
)

// A manager's own processes are the parents of its containers and take their exit status, so nines asks the manager how a
// first process ended. What it says is kept, as containerd says it once.

// askPatience bounds an answer, which takes tens of milliseconds.
const askPatience = 10 * time.Second

// askManager is how the first process of a node's container ended, as its manager tells: in words, as Ending; empty for a
// driver that is none, and if the manager does not tell.
func (b bundle) askManager(driver spec.OCIDriver) string {
	told := ociDrivers[driver].told
	if told == nil {
		return ""
	}
	kept, err := replace.ReadIfThere[*toldCode](b.told())
	if err == nil && kept == nil {
		ctx, cancel := context.WithTimeout(context.Background(), askPatience)
		defer cancel()
		code, failed := told(managed{ociContainer: ociContainer{bundle: b, driver: driver}}, ctx)
		if err = failed; err == nil {
			kept = &toldCode{code}
			_ = replace.JSON(b.told(), kept, 0o600) // without it the next look asks again
		}
	}
	if err != nil {
		return ""
	}
	return kept.words(driver)
}

// toldCode is what a manager tells: the exit code, and of a process that a signal ended 128 and the signal's number.
type toldCode struct {
	Code int `json:"code"`
}

// signalCode is the exit code that managers have for the signal 0, as shells.
const signalCode = 128

// words is how the process ended. A code beyond 128 can be the process's own.
func (c *toldCode) words(manager spec.OCIDriver) string {
	if signal := unix.Signal(c.Code - signalCode); c.Code > signalCode && unix.SignalName(signal) != "" {
		return fmt.Sprintf("%s, or with exit code %d (%s does not say which)", proc.EndedBy(signal), c.Code, manager)
	}
	return proc.EndedWith(c.Code)
}

// noteDaemon notes the daemon that serves the enclosure's socket: in its mount namespace it can be asked. Of several the
// last one counts.
func (m managed) noteDaemon(pid int) error {
	id, err := proc.Of(pid)
	if err != nil {
		return err
	}
	return replace.JSON(m.in("daemon"), id, 0o600)
}

// ask runs a program of the manager's in its daemon's enclosure, and returns what it prints.
func (m managed) ask(ctx context.Context, argv ...string) (string, error) {
	daemon, err := replace.Read[proc.Identity](m.in("daemon"))
	if err != nil {
		return "", err
	}
	fd, err := unix.PidfdOpen(daemon.PID, 0)
	if err != nil {
		return "", fmt.Errorf("its daemon: %w", err)
	}
	defer unix.Close(fd)
	if !daemon.Alive() { // the number can be another's
		return "", errors.New("its daemon has ended")
	}
	var said []byte
	err = thread.Ending(func() error {
		// A thread that shares its folders with others cannot enter, setns(2).
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := unix.Setns(fd, unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("enter the daemon's mounts: %w", err)
		}
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = m.environment(), "/"
		var failed error
		if said, failed = cmd.CombinedOutput(); failed != nil {
			return fmt.Errorf("%s: %w: %.200q", strings.Join(argv, " "), failed, said)
		}
		return nil
	})
	return strings.TrimSpace(string(said)), err
}

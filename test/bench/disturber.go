package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// disturbances are what a disturber does, each on every CPU at once, as the host's other
// work might: the kernel puts them where it finds room.
var disturbances = map[string]func() error{
	"spin":    spin,
	"fork":    forkOn,
	"softirq": floodLoopback,
	"timer":   armTimers,
}

// disturbanceVariable tells this program, started again by itself, to disturb.
const disturbanceVariable = "NINES_BENCH_DISTURBANCE"

// disturber is processes that keep a whole host busy.
type disturber struct{ processes []*exec.Cmd }

// startDisturber starts each disturbance once for each CPU. They go with this process,
// however it ends: their input ends then.
func startDisturber(ctx context.Context) (*disturber, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := &disturber{}
	for name := range disturbances {
		for range runtime.NumCPU() {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), disturbanceVariable+"="+name, "GOMAXPROCS=1")
			cmd.Stderr = os.Stderr
			_, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("start the disturber: %w", err), d.stop())
			}
			d.processes = append(d.processes, cmd)
		}
	}
	return d, nil
}

// stop ends them. One that ended before could not do its work.
func (d *disturber) stop() error {
	var errs []error
	for _, cmd := range d.processes {
		if err := cmd.Process.Kill(); err != nil {
			errs = append(errs, fmt.Errorf("the disturber: %w", err))
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
			errs = append(errs, fmt.Errorf("the disturber ended by itself: %w", err))
		}
	}
	d.processes = nil
	return errors.Join(errs...)
}

// disturb does what the variable says, for good; false where it says nothing.
func disturb() (bool, error) {
	name := os.Getenv(disturbanceVariable)
	if name == "" {
		return false, nil
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns when the other is gone
		os.Exit(1)
	}()
	work := disturbances[name]
	if work == nil {
		return true, fmt.Errorf("there is no disturbance %q", name)
	}
	return true, work()
}

func spin() error {
	for n := 0; ; n++ {
		if n < 0 {
			return errors.New("counted too far")
		}
	}
}

// forkOn starts and reaps processes, one after the other.
func forkOn() error {
	for {
		if err := exec.Command("/bin/true").Run(); err != nil {
			return err
		}
	}
}

// floodLoopback sends small datagrams to nobody: each raises NET_RX on the CPU that sends
// it, and the answer that nobody is there another.
func floodLoopback() error {
	receiver, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	to, _ := receiver.LocalAddr().(*net.UDPAddr)
	if err := receiver.Close(); err != nil {
		return err
	}
	sender, err := net.DialUDP("udp", nil, to)
	if err != nil {
		return err
	}
	payload := make([]byte, 18)
	for {
		// ECONNREFUSED is the answer to the one before.
		if _, err := sender.Write(payload); err != nil && !errors.Is(err, unix.ECONNREFUSED) {
			return err
		}
	}
}

// timerPeriod is that of each of a process's timers.
const timerPeriod = 200 * time.Microsecond

// armTimers has high-resolution timers expire all the time, each of which interrupts the
// CPU that it was armed on.
func armTimers() error {
	var fds []unix.PollFd
	for range 8 {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
		if err != nil {
			return os.NewSyscallError("timerfd_create", err)
		}
		every := unix.NsecToTimespec(int64(timerPeriod))
		if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
			return os.NewSyscallError("timerfd_settime", err)
		}
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	expired := make([]byte, 8)
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
		for _, fd := range fds {
			if _, err := unix.Read(int(fd.Fd), expired); err != nil && !errors.Is(err, unix.EAGAIN) {
				return os.NewSyscallError("read a timer", err)
			}
		}
	}
}

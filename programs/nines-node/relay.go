package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/node"
)

// relay joins the engine's control socket to the host's port: one connection to the engine
// for each host that connects.
func relay() error {
	path, err := findPort(node.GuestEnginePort)
	if err != nil {
		return err
	}
	p, err := openPort(path)
	if err != nil {
		return err
	}
	for {
		if err := p.await(); err != nil {
			return err
		}
		if err := p.serve(); err != nil {
			fmt.Fprintln(os.Stderr, "nines-node:", err)
		}
	}
}

// findPort is the device of a virtio-serial port by name.
func findPort(name string) (string, error) {
	names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
	for _, path := range names {
		if text, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(text)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(path)), nil
		}
	}
	return "", fmt.Errorf("this machine has no port %s", name)
}

// port is a virtio-serial port. Without a host a read ends at once, and poll(2) says that there is
// something to read, so only an event tells when to look again: nothing may wake the guest's CPUs during
// a measurement.
type port struct {
	fd, events int
	// early are bytes that came before the event of their host's connection.
	early []byte
}

// errNoHost says that the port's host is gone.
var errNoHost = errors.New("the host has gone")

func openPort(path string) (*port, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	events, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Edge-triggered: a port without a host reports a hang-up all the time.
	interest := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLHUP | unix.EPOLLET&(1<<32-1)}
	if err := unix.EpollCtl(events, unix.EPOLL_CTL_ADD, fd, &interest); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return &port{fd: fd, events: events}, nil
}

// event sleeps until something about the port changes.
func (p *port) event() error {
	var list [1]unix.EpollEvent
	_, err := unix.EpollWait(p.events, list[:], -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return os.NewSyscallError("epoll_wait", err)
	}
	return nil
}

// hasHost polls without waiting.
func (p *port) hasHost() (bool, error) {
	list := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN | unix.POLLOUT}}
	if _, err := unix.Poll(list, 0); err != nil && !errors.Is(err, unix.EINTR) {
		return false, os.NewSyscallError("poll", err)
	}
	return list[0].Revents&unix.POLLHUP == 0, nil
}

// await returns when a host has sent something.
func (p *port) await() error {
	buffer := make([]byte, 4096)
	for {
		n, err := unix.Read(p.fd, buffer)
		switch {
		case n > 0:
			connected, err := p.settle()
			if err != nil {
				return err
			}
			if connected {
				p.early = buffer[:n]
				return nil
			}
		case err == nil || errors.Is(err, unix.EAGAIN):
			if err := p.event(); err != nil {
				return err
			}
		case !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("read", err)
		}
	}
}

// settleLooks is how often, 5 ms apart, the event of a host's connection is looked for after its bytes. It is
// no time: a busy host stops a whole guest for seconds, in which its kernel hears of no event either.
const settleLooks = 200

// settle waits for the host that has sent bytes. These and connection events use separate queues, so the host may be
// about to connect, or may have gone, and then needs no answer.
func (p *port) settle() (connected bool, err error) {
	for range settleLooks {
		if connected, err = p.hasHost(); connected || err != nil {
			return connected, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false, nil
}

// Read waits for bytes from the host; errNoHost when the host has gone.
func (p *port) Read(buffer []byte) (int, error) {
	if len(p.early) > 0 {
		n := copy(buffer, p.early)
		p.early = p.early[n:]
		return n, nil
	}
	for {
		n, err := unix.Read(p.fd, buffer)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, errNoHost
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return 0, os.NewSyscallError("read", err)
		}
		if err := p.event(); err != nil {
			return 0, err
		}
	}
}

// Write writes everything, or fails when the host goes.
func (p *port) Write(data []byte) (int, error) {
	for written := 0; ; {
		n, err := unix.Write(p.fd, data[written:])
		if written += max(n, 0); written == len(data) {
			return written, nil
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return written, os.NewSyscallError("write", err)
		}
		switch connected, err := p.hasHost(); {
		case err != nil:
			return written, err
		case !connected:
			return written, errNoHost
		}
		// The reader waits for events; a full queue is emptied soon.
		time.Sleep(time.Millisecond)
	}
}

// noEngine is an engine's answer to any command, docs/reference/engine-protocol.md.
const noEngine = `{"reply":"?","ok":false,"error":"no engine runs in the guest","errno":"ECONNREFUSED"}` + "\n"

// enginePatience limits the wait for an engine that is starting and has no socket yet:
// translated, on a busy host, loading it takes minutes. It is less than the host's own
// limit.
const enginePatience = 150 * time.Second

// serve relays for one host. If there is no engine, it answers as an engine would, with an
// error.
func (p *port) serve() error {
	conn, err := dialEngine(node.GuestEngineSocket)
	if err != nil {
		if _, e := fmt.Fprint(p, noEngine); e != nil {
			return e
		}
		if _, e := p.Read(make([]byte, 64<<10)); e != nil {
			return errors.Join(err, e)
		}
		return err
	}
	defer conn.Close()
	go func() {
		// It ends with the connection, or when the engine's output cannot be
		// delivered. An engine that dies in a conversation owes an answer.
		if _, err := io.Copy(p, conn); err == nil {
			_, _ = fmt.Fprint(p, noEngine)
		}
		_ = conn.Close()
	}()
	if _, err := io.Copy(conn, p); !errors.Is(err, errNoHost) {
		return err
	}
	return nil
}

// refusedPatience is how long a socket that refuses may belong to no process: bind(2) makes the file
// before the kernel's table has the socket (net/unix/af_unix.c), and a translated guest of a busy
// host may stand still between the two.
const refusedPatience = 3 * time.Second

func dialEngine(path string) (net.Conn, error) {
	begun := time.Now()
	alive := begun // when its engine may last have been starting
	for {
		conn, err := net.Dial("unix", path)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) && bound(path) {
			alive = time.Now()
		} else if !errors.Is(err, unix.ECONNREFUSED) || time.Since(alive) > refusedPatience {
			return conn, err
		}
		if time.Since(begun) > enginePatience {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// bound is true if a running process has the socket. A socket that refuses belongs to no
// process if its process has ended; otherwise the process is between bind(2) and listen(2).
func bound(path string) bool {
	text, err := os.ReadFile("/proc/net/unix")
	return err == nil && slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return strings.HasSuffix(line, " "+path)
	})
}

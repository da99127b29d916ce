package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Identity is one process of this boot.
type Identity struct {
	PID int
	// StartTicks is its start in clock ticks since boot, field 22 of
	// /proc/PID/stat, proc(5), as the host's time namespace sees it.
	StartTicks uint64
}

// Of identifies the process that has this ID now.
func Of(pid int) (Identity, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Identity{PID: pid, StartTicks: stat.start}, nil
}

type stat struct {
	clock   clock // by which the start was read
	state   byte
	start   uint64
	used    uint64          // fields 14 to 17
	threads int             // field 20: those that have not ended, and the first one even if it has
	status  unix.WaitStatus // field 52 (Linux 3.5): how it ended, for a zombie
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// Field 2, the name in brackets, may contain spaces and brackets.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 {
		return stat{}, errors.New("cannot read its stat")
	}
	s := stat{state: fields[0][0]}
	if s.clock, err = ourClock(); err != nil {
		return stat{}, err
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, err
	}
	s.start = s.clock.sinceBoot(start)
	if s.threads, err = strconv.Atoi(fields[17]); err != nil {
		return stat{}, err
	}
	if len(fields) > 49 {
		status, err := strconv.ParseUint(fields[49], 10, 32)
		if err != nil {
			return stat{}, err
		}
		s.status = unix.WaitStatus(status)
	}
	for _, field := range fields[11:15] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return stat{}, err
		}
		s.used += ticks
	}
	return s, nil
}

// CPUTicks is how much CPU time the process has used, with what it has waited for, in clock ticks; 0 once
// it is gone.
func (id Identity) CPUTicks() uint64 {
	s, err := readStat(id.PID)
	if err != nil || !s.isOf(id) {
		return 0
	}
	return s.used
}

// Alive is true while the process runs; a zombie does not run. It is also true if /proc
// cannot be read, such as without a free file descriptor: only a process that is certainly
// gone may be forgotten.
func (id Identity) Alive() bool {
	s, err := readStat(id.PID)
	if err != nil {
		return !IsGone(err)
	}
	return s.isOf(id) && !s.ended()
}

func (s stat) isOf(id Identity) bool { return s.clock.isSame(s.start, id.StartTicks) }

// ended is true once all threads have ended. A process is a zombie as soon as its first thread has, and its
// files are open, its sockets take connections, until the last one has (do_exit, kernel/exit.c): after a
// SIGKILL, too, if the others get no CPU.
func (s stat) ended() bool { return s.state == 'X' || s.state == 'Z' && s.threads <= 1 }

// InNamespaces is true while the process is alive and in its namespaces, which it leaves a moment before it
// counts as ended (do_exit, kernel/exit.c): what needs them is gone already.
func (id Identity) InNamespaces() bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(id.PID) + "/ns/net")
	return !IsGone(err) && id.Alive()
}

// IsGone is true for the errors with which /proc answers for a process or a thread that has ended. One that ends
// just now leaves its namespaces a moment before (do_exit, kernel/exit.c): their files have gone already.
func IsGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// Signal sends a signal to this process, never to a successor; it does nothing if it has
// ended.
func (id Identity) Signal(signal unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(fd)
	// Checked after opening, so that the checked process is the one that gets the
	// signal.
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("pidfd_send_signal: %w", err)
	}
	return nil
}

// Reap takes the exit status of our child if it has ended; it does nothing for others. It
// returns false if the child has no status yet: also if its first thread has ended but
// others have not, such as the kernel's io_uring threads.
func (id Identity) Reap() bool {
	pid, err := unix.Wait4(id.PID, nil, unix.WNOHANG, nil)
	return pid != 0 || err != nil
}

// Holds is true if the token is an argument or a value in the environment.
func (id Identity) Holds(token string) (bool, error) {
	for _, file := range []string{"cmdline", "environ"} {
		words, err := id.words(file)
		if err != nil {
			return false, err
		}
		for _, word := range words {
			if word == token || strings.HasSuffix(word, "="+token) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Begun is the argument or the value in the environment that begins with a text; empty if there is none.
func (id Identity) Begun(text string) (string, error) {
	for _, file := range []string{"cmdline", "environ"} {
		words, err := id.words(file)
		if err != nil {
			return "", err
		}
		for _, word := range words {
			if _, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(value, text) {
				return value, nil
			}
			if strings.HasPrefix(word, text) {
				return word, nil
			}
		}
	}
	return "", nil
}

// Arguments are a process's, or the title with which it has replaced them; empty as words are.
func (id Identity) Arguments() ([]string, error) { return id.words("cmdline") }

// Executable is the path of a process's program; empty for a kernel thread, a process that has ended, or
// one that we may not look into.
func (id Identity) Executable() (string, error) {
	path, err := os.Readlink("/proc/" + strconv.Itoa(id.PID) + "/exe")
	if IsGone(err) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	// One that was replaced meanwhile, by an upgrade, d_path in fs/d_path.c.
	return strings.TrimSuffix(path, " (deleted)"), err
}

// HasArguments is true if all words occur in the arguments, even if the process has
// rewritten them into one string.
func (id Identity) HasArguments(wanted ...string) (bool, error) {
	arguments, err := id.Arguments()
	if err != nil {
		return false, err
	}
	have := map[string]bool{}
	for _, argument := range arguments {
		for _, word := range strings.Fields(argument) {
			have[word] = true
		}
	}
	for _, word := range wanted {
		if !have[word] {
			return false, nil
		}
	}
	return true, nil
}

// words are empty for a process that has ended, or that we may not look into: what nines
// starts, root may look into.
func (id Identity) words(file string) ([]string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/" + file)
	if IsGone(err) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\x00"), nil
}

// Command is the process's name.
func (id Identity) Command() string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/comm")
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(text))
}

// NetInode is the inode of the process's network namespace; 0 if it has ended.
func (id Identity) NetInode() uint64 { return id.namespace("net") }

// PIDInode is the inode of the process's PID namespace; 0 if it has ended.
func (id Identity) PIDInode() uint64 { return id.namespace("pid") }

func (id Identity) namespace(kind string) uint64 {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(id.PID)+"/ns/"+kind, &st); err != nil {
		return 0
	}
	return st.Ino
}

// Catches is true if the process has a handler for a signal, SigCgt in proc(5). The first process of
// a PID namespace gets no other signals than those that it catches.
func (id Identity) Catches(signal unix.Signal) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/status")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), "\nSigCgt:")
	mask, _, _ := strings.Cut(after, "\n")
	caught, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && caught&(1<<(signal-1)) != 0
}

// Each calls f for every process except kernel threads and our own, until f fails.
func Each(f func(Identity) error) error {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("list processes: %w", err)
	}
	self := os.Getpid()
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == self {
			continue
		}
		id, err := Of(pid)
		if err == nil {
			err = f(id)
		}
		if err != nil && !IsGone(err) {
			return err
		}
	}
	return nil
}

package proc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Endings says what ended processes. It reads the kernel's log once, when it is first asked, however many have ended.
type Endings struct {
	read sync.Once
	log  []byte
}

// Ending is Endings.Of for one process.
func (id Identity) Ending() string { return new(Endings).Of(id) }

// Of says what ended a process, as far as the kernel still knows: its exit status until someone reaps it, and what
// the kernel's log says of it, such as that memory had run out. It is empty for one that runs, or of which nothing is
// known. It needs root.
func (e *Endings) Of(id Identity) string {
	if id.Alive() {
		return ""
	}
	var parts []string
	if s, err := readStat(id.PID); err == nil && s.isOf(id) {
		parts = append(parts, describe(s.status))
	}
	e.read.Do(func() {
		// The log has the IDs of the first PID namespace, PROC_PID_INIT_INO in include/linux/proc_ns.h.
		if self := (Identity{PID: os.Getpid()}); self.PIDInode() == 0xEFFFFFFC {
			e.log = kernelLog()
		}
	})
	if said := said(e.log, id); said != "" {
		parts = append(parts, "the kernel's log says: "+said)
	}
	return strings.Join(parts, "; ")
}

func describe(status unix.WaitStatus) string {
	if status.Signaled() {
		return EndedBy(status.Signal())
	}
	return EndedWith(status.ExitStatus())
}

// EndedBy says of a process that a signal has ended it.
func EndedBy(signal unix.Signal) string {
	return "ended by " + cmp.Or(unix.SignalName(signal), signal.String())
}

// EndedWith says of a process that it has ended by itself.
func EndedWith(code int) string { return fmt.Sprintf("ended with exit code %d", code) }

// ends are what messages of the end of a process contain.
var ends = [][]byte{[]byte("Killed process "), []byte("segfault at "), []byte("traps: "), []byte("unhandled exception"), []byte(seccompRecord)}

// seccompRecord begins what the kernel's log says of a system call that a seccomp filter did not allow, AUDIT_SECCOMP
// in include/uapi/linux/audit.h.
const seccompRecord = "audit: type=1326 "

var systemCall = regexp.MustCompile(` syscall=(\d+) `)

// kernelLog is what the kernel's log says of ended processes, a record a line, in the form of
// Documentation/ABI/testing/dev-kmsg; as much of it as can be read.
func kernelLog() []byte {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var log []byte
	record := make([]byte, 8<<10) // CONSOLE_EXT_LOG_MAX in kernel/printk/printk.c
	for {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // the next record has been overwritten
		case err != nil || n == 0:
			return log
		case slices.ContainsFunc(ends, func(end []byte) bool { return bytes.Contains(record[:n], end) }):
			log = append(log, record[:n]...)
		}
	}
}

// said is the last message of a log that tells of the end of a process. It is pure.
//
// Messages are "Out of memory: Killed process PID (NAME) …" (mm/oom_kill.c), "NAME[PID]: segfault at …"
// (arch/x86/mm/fault.c), "traps: NAME[PID] …" (arch/x86/kernel/traps.c) "NAME[PID]: unhandled exception: …"
// (arch/arm64/kernel/traps.c), and "audit: type=1326 … pid=PID … sig=31 …" for whom seccomp has killed
// (audit_seccomp in kernel/auditsc.c).
func said(log []byte, id Identity) (message string) {
	killed, faulted := fmt.Sprintf("Killed process %d (", id.PID), fmt.Sprintf("[%d]", id.PID)
	for line := range bytes.Lines(log) {
		head, text, found := strings.Cut(strings.TrimSuffix(string(line), "\n"), ";")
		fields := strings.Split(head, ",")
		if !found || len(fields) < 4 {
			continue // a continuation, with the record's device
		}
		// The log's clock stands still while the host sleeps, so that a message may count as too old, and is not told.
		microseconds, err := strconv.ParseInt(fields[2], 10, 64)
		if at := time.Duration(microseconds) * time.Microsecond; err != nil || at < time.Duration(id.StartTicks)*tick-time.Second {
			continue
		}
		name, after, faults := strings.Cut(text, faulted)
		faults = faults && !strings.Contains(strings.TrimPrefix(name, "traps: "), " ") &&
			(strings.HasPrefix(name, "traps: ") || strings.HasPrefix(after, ": segfault") || strings.HasPrefix(after, ": unhandled"))
		refused := strings.HasPrefix(text, seccompRecord) && strings.Contains(text, fmt.Sprintf(" pid=%d ", id.PID)) &&
			!strings.Contains(text, " sig=0 ") // of one that goes on
		if faults || refused || strings.Contains(text, killed) {
			message = text
		}
		if call := systemCall.FindStringSubmatch(text); refused && call != nil {
			message += fmt.Sprintf(" (a seccomp filter ended it at the system call %s)", call[1])
		}
	}
	return message
}

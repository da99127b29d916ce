package node

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// driverCommand is a call of a driver's command line by the user's own settings: with the whole
// environment of nines, and on the host's own network.
type driverCommand []string

func fetchCommand(argv ...string) driverCommand { return argv }

func (c driverCommand) String() string { return strings.Join(c, " ") }

// driverPatience is how long a driver has to end what it was doing when it is told to.
const driverPatience = 10 * time.Second

// run runs the command. It ends with nines; by SIGTERM, as drivers remove their temporary files then.
func (c driverCommand) run(ctx context.Context, said *sayings) (out string, err error) {
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = driverPatience
	cmd.Env = os.Environ()
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, said
	if said.all {
		cmd.Stdout = said
	}
	// The signal comes at the end of the thread that starts the program, prctl(2).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", c[0], err, said.last(lastLines))
	}
	return strings.TrimSpace(text.String()), nil
}

// output runs the command, and returns what it prints to its standard output.
func (c driverCommand) output(ctx context.Context) (string, error) {
	return c.run(ctx, &sayings{})
}

// How soon, and how often, to say what takes long.
const (
	firstWord = 2 * time.Second
	nextWords = 10 * time.Second
)

// showing runs the command, and says meanwhile for how long it has run, and what it said last.
func (c driverCommand) showing(ctx context.Context, progress func(string), what string) error {
	said, begun := &sayings{all: true}, time.Now()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		next := time.NewTimer(firstWord)
		defer next.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-next.C:
				words := fmt.Sprintf("%s: %d s so far", what, int(now.Sub(begun).Seconds()))
				if last := said.last(1); last != "" {
					words += "; " + last
				}
				progress(words)
				next.Reset(nextWords)
			}
		}
	}()
	_, err := c.run(ctx, said)
	close(done)
	<-ended
	return err
}

// sayings keeps the last lines of what a program says.
type sayings struct {
	// all is true for one that hears the standard output, too.
	all   bool
	mutex sync.Mutex
	lines []string
	rest  string
}

// drawing is what moves a terminal's cursor and colours it, ECMA-48, section 5.4.
var drawing = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// Write never fails.
func (s *sayings) Write(text []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	lines := strings.FieldsFunc(s.rest+string(text)+"\x00", func(r rune) bool { return r == '\n' || r == '\r' })
	last := len(lines) - 1
	s.rest = strings.TrimSuffix(lines[last], "\x00")
	s.rest = s.rest[max(0, len(s.rest)-1000):]
	for _, line := range lines[:last] {
		s.add(line)
	}
	return len(text), nil
}

func (s *sayings) add(line string) {
	line = strings.Join(strings.Fields(drawing.ReplaceAllString(line, "")), " ")
	if line == "" {
		return
	}
	s.lines = append(s.lines, line[:min(len(line), 500)])
	s.lines = s.lines[max(0, len(s.lines)-lastLines):]
}

// last joins the last lines.
func (s *sayings) last(most int) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.rest != "" {
		s.add(s.rest)
		s.rest = ""
	}
	return strings.Join(s.lines[max(0, len(s.lines)-most):], "; ")
}

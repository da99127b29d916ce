package inside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Start makes the part whose folder this is into a machine, and keeps its programs running until
// ctx ends. It returns an error only if there is nothing to keep running; that is in the status,
// too, as nobody waits for this process. Where the part has control groups of version 2, the caller
// is in the Leaf, and has the file cgroup.procs of the group above open at descriptor 3.
func Start(ctx context.Context, folder, programs, images string) error {
	// The namespace of control groups is a thread's, and what it starts inherits it.
	runtime.LockOSThread()
	p, err := Read(folder)
	if err != nil {
		return err
	}
	if err := prepare(sources{folder, programs, images}, p); err != nil {
		err = fmt.Errorf("prepare %s: %w", p.Name, err)
		failed := Status{Failed: err.Error()}
		// The folder is at one place before it was mounted, and at another after.
		return errors.Join(err, errors.Join(failed.write(folder), failed.write(Folder)))
	}
	newSupervisor(p, Folder).run(ctx)
	return nil
}

// How long a program that has ended stays so: longer each time, unless it ran for a while.
const (
	firstPause = 500 * time.Millisecond
	longest    = 20 * time.Second
	ranWell    = time.Minute
)

// readyEvery is how often it is asked whether a program is ready.
const readyEvery = 50 * time.Millisecond

// supervisor keeps programs running. All of it is one thread's, but the waiting for a program's
// end.
type supervisor struct {
	folder   string
	programs []Program
	status   Status
	pauses   []time.Duration
	ended    chan end
	again    chan int
	asker    asker
}

// end is the end of a program.
type end struct {
	program int
	how     error
}

func newSupervisor(p Part, folder string) *supervisor {
	s := &supervisor{
		folder: folder, programs: p.Programs, pauses: make([]time.Duration, len(p.Programs)),
		ended: make(chan end), again: make(chan int),
		asker: asker{authority: filepath.Join(folder, authorityFile)},
	}
	for _, program := range p.Programs {
		s.status.Programs = append(s.status.Programs, ProgramStatus{Name: program.Name})
	}
	return s
}

func (s *supervisor) run(ctx context.Context) {
	ticks := time.NewTicker(readyEvery)
	defer ticks.Stop()
	// first is the program that the next ones wait for.
	first := 0
	s.start(ctx, first)
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-s.ended:
			s.note(ctx, e)
		case program := <-s.again:
			s.start(ctx, program)
		case <-ticks.C:
			if first < len(s.programs) && s.isReady(first) {
				s.status.Programs[first].Ready = true
				s.tell()
				if first++; first < len(s.programs) {
					s.start(ctx, first)
				} else {
					ticks.Stop()
				}
			}
		}
	}
}

// start starts a program, and hears of its end.
func (s *supervisor) start(ctx context.Context, i int) {
	p, status := s.programs[i], &s.status.Programs[i]
	status.Starts++
	status.Since = time.Now().UTC()
	defer s.tell()
	log, err := os.OpenFile(Log(s.folder, p.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.startLater(ctx, i, err)
		return
	}
	defer log.Close()
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.startLater(ctx, i, err)
		return
	}
	status.PID = cmd.Process.Pid
	go func() {
		how := cmd.Wait()
		select {
		case <-ctx.Done():
		case s.ended <- end{i, how}:
		}
	}()
}

// note notes the end of a program. One that is to run is started again, and stays ready for those
// that wait for it: what depends on it deals with its absence, as on other machines.
func (s *supervisor) note(ctx context.Context, e end) {
	p, status := s.programs[e.program], &s.status.Programs[e.program]
	status.PID = 0
	status.Ended = "exit code 0"
	if e.how != nil {
		status.Ended = e.how.Error()
	}
	if p.Once && e.how == nil {
		status.Done = true
		s.tell()
		return
	}
	s.startLater(ctx, e.program, nil)
	s.tell()
}

func (s *supervisor) startLater(ctx context.Context, i int, failed error) {
	status := &s.status.Programs[i]
	if failed != nil {
		status.Ended = failed.Error()
	}
	if time.Since(status.Since) > ranWell {
		s.pauses[i] = 0
	}
	s.pauses[i] = min(max(2*s.pauses[i], firstPause), longest)
	time.AfterFunc(s.pauses[i], func() {
		select {
		case <-ctx.Done():
		case s.again <- i:
		}
	})
}

func (s *supervisor) isReady(i int) bool {
	p, status := s.programs[i], s.status.Programs[i]
	switch {
	case p.Once:
		return status.Done
	case status.PID == 0:
		return false
	case p.Ready == "":
		return true
	}
	if strings.HasPrefix(p.Ready, "https:") {
		return s.asker.answers(p.Ready)
	}
	network, address, _ := strings.Cut(p.Ready, ":")
	connection, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// tell writes the status. It is for people who look, and nothing waits for it to be written.
func (s *supervisor) tell() {
	if err := s.status.write(s.folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

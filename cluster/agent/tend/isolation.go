package tend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// isolate keeps other programs off the CPUs of the pods that request it.
func (s *Service) isolate(ctx context.Context, found []Found, decisions []Decision) error {
	kept := isolate.Kept{
		Tasks: union(decisions, func(d Decision) bool { return d.Isolation != "" }),
	}
	if hostThreads() { // otherwise the interrupt settings belong to another machine
		kept.Quiet = union(decisions, func(d Decision) bool { return d.Isolation == spec.IsolationIsolated })
	}
	err := s.keep(ctx, kept)
	for _, d := range decisions {
		pod := podOf(found, d)
		switch {
		case d.IsolationRefused != "":
			s.told.refuse(pod, aboutIsolation, d.IsolationRefused)
		case d.Isolation == "":
			s.told.end(pod, aboutIsolation)
		case err != nil:
			s.told.refuse(pod, aboutIsolation, fmt.Sprintf("%s %s: %v", IsolationKey, d.Isolation, err))
		default:
			s.told.give(pod, aboutIsolation, isolated(d, s.state))
		}
	}
	if errors.Is(err, errNotOnNode) || errors.As(err, new(*noOtherError)) {
		return nil // the pods got an event, and a retry does not help
	}
	return err
}

// noOtherError means that the node would have no CPU left.
type noOtherError struct{ taken tasks.Set }

func (e *noOtherError) Error() string {
	return fmt.Sprintf("the node has no CPUs other than %s: reserve one for its other programs (reservedSystemCPUs of the kubelet)", e.taken)
}

// keep isolates these CPUs. If nothing has changed, it only moves programs that have started since.
func (s *Service) keep(ctx context.Context, kept isolate.Kept) error {
	same := kept.Tasks.Equal(s.kept.Tasks) && kept.Quiet.Equal(s.kept.Quiet)
	if !s.keptAt.IsZero() && same && (len(kept.Tasks) == 0 || time.Since(s.keptAt) < keepAgain) {
		return nil
	}
	apart := isolate.Apart{Root: s.Root}
	var others tasks.Set
	if len(kept.Tasks) > 0 {
		if err := onNode(); err != nil {
			return err
		}
		online, err := onlineCPUs()
		if err != nil {
			return err
		}
		if others = online.Minus(kept.Tasks); len(others) == 0 {
			return &noOtherError{kept.Tasks}
		}
		if apart.Include, err = includes(); err != nil {
			return err
		}
	}
	first := s.keptAt.IsZero()
	s.keptAt = time.Time{} // until it is done
	state, err := apart.Keep(ctx, kept, others, func(note string) { slog.Warn("isolating CPUs", "note", note) })
	if err != nil {
		return err
	}
	if !same || first {
		s.state = state // otherwise it differs only by kernel threads that come and go
	}
	if !same {
		slog.Info("CPUs isolated", "tasks", kept.Tasks.String(), "interrupts", kept.Quiet.String())
	}
	s.kept, s.keptAt = kept, time.Now()
	return nil
}

func onlineCPUs() (tasks.Set, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("read the node's online CPUs: %w", err)
	}
	return tasks.ParseSet(strings.TrimSpace(string(text)))
}

// isolated describes what a pod got.
func isolated(d Decision, s isolate.State) string {
	cpus := "its CPU " + d.Own.String()
	if len(d.Own) > 1 {
		cpus = "its CPUs " + d.Own.String()
	}
	text := fmt.Sprintf("isolation %s: other programs of the node and movable kernel threads are kept off %s", d.Isolation, cpus)
	if d.Isolation == spec.IsolationPartition {
		return text
	}
	if !hostThreads() {
		return text + "; interrupts, workqueues and packets of devices are not moved, because the node shares its kernel with the machine that it runs on"
	}
	text += fmt.Sprintf(", and so are interrupts (%d moved), workqueues and packets of the node's devices (%s)",
		s.Interrupts, terminal.Count(s.Settings, "setting"))
	if len(s.Notes) > 0 {
		text += "; " + strings.Join(s.Notes, "; ")
	}
	return text
}

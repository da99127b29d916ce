package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// threadTime is how long a thread ran, and how long it waited for a CPU.
type threadTime struct{ ran, waited time.Duration }

// programReader reads the disturbances and drops of the programs between links' endpoints, such as
// switches.
type programReader struct {
	bench *bench
	plan  *plan.Plan
}

// programCounters tell what these have done in a trial.
func (b *bench) programCounters(r run) probe {
	return &difference[programs]{
		read: programReader{b, r.plan}.read,
		tell: func(o *observation, before, after programs) {
			o.programs, o.drops = after.since(before, r.plan)
			o.impairments = after.impairmentsSince(before, r.plan, r.stream.FrameBytes)
		},
	}
}

// programs is one reading: the threads of each link's programs, and the drops that its switch
// counted.
type programs struct {
	threads map[string]map[int]threadTime
	drops   map[string]uint64
	// impaired are the impairments of switches' ports, by "link/port".
	impaired map[string]client.ImpairStats
}

func (p programReader) read(ctx context.Context) (programs, error) {
	now := programs{threads: make(map[string]map[int]threadTime), drops: make(map[string]uint64), impaired: make(map[string]client.ImpairStats)}
	list, err := p.bench.lab.Programs()
	if err != nil {
		return now, err
	}
	for _, program := range list {
		if now.threads[program.Link] == nil {
			now.threads[program.Link] = make(map[int]threadTime)
		}
		readThreads("/", program.PID, now.threads[program.Link])
	}
	for _, link := range p.plan.Links {
		if link.HasEngine() {
			if err := p.readSwitch(ctx, link.Name, now); err != nil {
				return now, err
			}
		}
	}
	return now, nil
}

// readSwitch asks a switch for its counters. A dead switch is no error here: the lab's faults report
// it.
func (p programReader) readSwitch(ctx context.Context, link string, now programs) error {
	socket, err := p.bench.lab.SwitchSocket(link)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwarderPatience)
	defer cancel()
	c, err := client.Dial(ctx, socket)
	if err != nil {
		return nil
	}
	stats, err := c.SwitchStats()
	if err == nil {
		for _, port := range stats.Ports {
			now.readImpairment(link, port)
			for _, drop := range port.Drops {
				now.drops[fmt.Sprintf("link %s:%s %s", link, port.Port, drop.Name)] += drop.Count
			}
		}
	} else if errors.Is(err, client.ErrGone) {
		err = nil
	}
	return errors.Join(err, c.Close())
}

// readThreads adds the times of a process's threads (Documentation/scheduler/
// sched-stats.rst: ns on the CPU, ns waiting in the run queue). A process that has
// ended has none.
func readThreads(root string, pid int, into map[int]threadTime) {
	dir := filepath.Join(root, "proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name(), "schedstat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			continue
		}
		ran, ranErr := strconv.ParseInt(fields[0], 10, 64)
		waited, waitedErr := strconv.ParseInt(fields[1], 10, 64)
		if ranErr == nil && waitedErr == nil {
			into[tid] = threadTime{time.Duration(ran), time.Duration(waited)}
		}
	}
}

// since returns how long the polling threads of each link's programs waited for a CPU, and what
// switches dropped, between an earlier reading and this one.
func (now programs) since(before programs, p *plan.Plan) (delays []result.ProgramDelay, drops []result.Counter) {
	for _, link := range p.Links {
		if link.Switch == nil {
			continue
		}
		delays = append(delays, result.ProgramDelay{Link: link.Name, Kind: string(link.Kind),
			RunDelayNs: int64(pollersWaited(before.threads[link.Name], now.threads[link.Name], len(link.Switch.CPUs)))})
	}
	for name, count := range now.drops {
		if count > before.drops[name] {
			drops = append(drops, result.Counter{Name: name, Count: count - before.drops[name]})
		}
	}
	slices.SortFunc(drops, func(a, b result.Counter) int { return cmp.Compare(a.Name, b.Name) })
	return delays, drops
}

// pollersWaited sums the waits of the busiest threads, as many as poll: a polling thread never
// sleeps, and a program's other threads hardly run.
func pollersWaited(before, after map[int]threadTime, pollers int) time.Duration {
	var spans []threadTime
	for tid, now := range after {
		spans = append(spans, threadTime{now.ran - before[tid].ran, now.waited - before[tid].waited})
	}
	slices.SortFunc(spans, func(a, b threadTime) int { return cmp.Compare(b.ran+b.waited, a.ran+a.waited) })
	var waited time.Duration
	for _, span := range spans[:min(len(spans), pollers)] {
		waited += span.waited
	}
	return waited
}

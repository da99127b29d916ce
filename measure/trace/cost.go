package trace

import (
	"errors"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// calibration is how long the kernel counts what the programs take. It reads the clock
// twice for each run of a program to count (kernel/bpf/trampoline.c), which costs about as
// much as they do: so it does that at the start only, in the warm-up of a trial.
const calibration = 200 * time.Millisecond

// cost is what the programs take, as the kernel counts it (BPF_ENABLE_STATS, Linux 5.8).
type cost struct {
	counting io.Closer // nil: not counting
	until    int64
	ns, runs uint64
}

// begin lets the kernel count; where it does not, the cost stays unknown.
func (c *cost) begin(now int64) {
	if counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
		c.counting, c.until = counting, now+int64(calibration)
	}
}

// look ends the counting when its time is over.
func (c *cost) look(now int64, p *programs) error {
	if c.counting == nil || now < c.until {
		return nil
	}
	return c.end(p)
}

func (c *cost) end(p *programs) error {
	if c.counting == nil {
		return nil
	}
	counting := c.counting
	c.counting = nil
	for _, program := range p.collection.Programs {
		stats, err := program.Stats()
		if err != nil {
			return errors.Join(err, counting.Close())
		}
		c.ns += uint64(stats.Runtime)
		c.runs += stats.RunCount
	}
	return counting.Close()
}

// of is what so many events took; nil if it is not known.
func (c *cost) of(events uint64) *int64 {
	if c.runs == 0 {
		return nil
	}
	total := int64(float64(c.ns) / float64(c.runs) * float64(events))
	return &total
}

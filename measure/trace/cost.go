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
	// ns is what they took until records were written: some programs write none, and what
	// they took belongs to the records that others write later.
	ns, records uint64
}

// begin lets the kernel count; where it does not, the cost stays unknown. The programs are
// new, and have written nothing yet.
func (c *cost) begin(now int64) {
	if counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
		c.counting, c.until = counting, now+int64(calibration)
	}
}

// look ends the counting when its time is over.
func (c *cost) look(now int64, p *programs, written uint64) error {
	if c.counting == nil || now < c.until {
		return nil
	}
	return c.end(p, written)
}

func (c *cost) end(p *programs, written uint64) error {
	if c.counting == nil {
		return nil
	}
	counting := c.counting
	c.counting, c.records = nil, written
	for _, program := range p.collection.Programs {
		stats, err := program.Stats()
		if err != nil {
			return errors.Join(err, counting.Close())
		}
		c.ns += uint64(stats.Runtime)
	}
	return counting.Close()
}

// of is what so many records took; nil if it is not known.
func (c *cost) of(records uint64) *int64 {
	if c.records == 0 || c.ns == 0 {
		return nil
	}
	total := int64(float64(c.ns) / float64(c.records) * float64(records))
	return &total
}

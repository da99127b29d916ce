package trace

import (
	"errors"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// calibration is how long the kernel counts the programs' CPU time. For that it reads the clock
// twice per program run (kernel/bpf/trampoline.c), which costs about as much as the programs: so it
// counts only at the start, in a trial's warm-up.
const calibration = 200 * time.Millisecond

// cost is the programs' CPU time as counted by the kernel (BPF_ENABLE_STATS, Linux 5.8).
type cost struct {
	counting io.Closer // nil: not counting
	until    int64
	// ns is their time until records were written: some programs write no records, so their time
	// belongs to the records that others write later.
	ns, records uint64
}

// begin starts the kernel's counting; if that fails, the cost stays unknown. The programs are new,
// and have written nothing yet.
func (c *cost) begin(now int64) {
	if counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
		c.counting, c.until = counting, now+int64(calibration)
	}
}

// look stops the counting when its time is over.
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

// of returns the cost of this many records; nil if unknown.
func (c *cost) of(records uint64) *int64 {
	if c.records == 0 || c.ns == 0 {
		return nil
	}
	total := int64(float64(c.ns) / float64(c.records) * float64(records))
	return &total
}

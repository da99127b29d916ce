package trace

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/result"
)

// Config says what to record.
type Config struct {
	// CPUs are those to record; nil: all online CPUs.
	CPUs []int
	// Senders are further CPUs, for which only the interrupts that they send are recorded.
	Senders []int
	// Threads are those that handle the packets and are known at the start; AddThreads adds others.
	Threads []result.TracedThread
	// BufferBytes is the memory for each CPU's latest events, rounded up to a power of two (0: 1
	// MiB, which fits in a cache along with the measurement).
	BufferBytes int64
	// Slowest is the number of slowest packets whose events are kept (0: 200), Ordinary the number
	// of randomly picked ones.
	Slowest, Ordinary int
	// Stages also follows packets through the kernel, unless nil.
	Stages *Stages
	// CollectOn are the CPUs that the collector may use; nil: any.
	CollectOn []int
}

// Packet is a packet, or anything else with a duration, whose events are wanted.
type Packet struct {
	ID uint32
	// BeginNs is when it was due, EndNs when it arrived.
	BeginNs, EndNs int64
	// LatencyNs ranks the slowest.
	LatencyNs int64
	// Ordinary packets were picked at random: a new one replaces the one with the same Place.
	Ordinary bool
	Place    int
}

// Recording is everything that was kept.
type Recording struct {
	// Events are ordered by begin.
	Events []result.Event
	Trace  result.Trace
	// Notes tell the reader about packets whose events could not be kept, for example.
	Notes []string
}

// The defaults of Config.
const (
	DefaultBufferBytes = 1 << 20
	DefaultPackets     = 200
)

// MarginNs is how long before a packet was due and after it arrived events are also kept: the cause
// of its wait began earlier.
const MarginNs = 50_000

// cpusMost is CPUS_MAX of bpf/record.h.
const cpusMost = 4096

// complete fills in the defaults.
func (c *Config) complete() error {
	if c.CPUs == nil {
		online, err := os.ReadFile("/sys/devices/system/cpu/online")
		if err != nil {
			return fmt.Errorf("read which CPUs are online: %w", err)
		}
		if c.CPUs, err = cpulist.Parse(strings.TrimSpace(string(online))); err != nil {
			return err
		}
	}
	for _, cpu := range slices.Concat(c.CPUs, c.Senders) {
		if cpu < 0 || cpu >= cpusMost {
			return fmt.Errorf("CPU %d cannot be recorded: the recorder knows %d", cpu, cpusMost)
		}
	}
	if c.BufferBytes == 0 {
		c.BufferBytes = DefaultBufferBytes
	}
	c.BufferBytes = max(c.BufferBytes, 4*guard*recordBytes)
	if c.Slowest == 0 {
		c.Slowest = DefaultPackets
	}
	return nil
}

package trace

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
)

// Config says what is recorded.
type Config struct {
	// CPUs are those whose events are recorded; nil: all that are online.
	CPUs []int
	// Senders are further CPUs, of which only the interrupts are recorded that they send
	// to others.
	Senders []int
	// Threads are those that handle the packets, as far as they are known at the start;
	// AddThreads adds others.
	Threads []result.TracedThread
	// BufferBytes is the memory for each CPU's latest events, rounded up to a power of
	// two (0: 1 MiB, which stays in a cache beside what is measured).
	BufferBytes int64
	// Slowest is of how many of the slowest packets the events are kept (0: 200), Ordinary
	// of how many picked at random.
	Slowest, Ordinary int
	// Stages also follows packets through the kernel; nil does not.
	Stages *Stages
	// CollectOn are the CPUs that the collector may use; nil: any.
	CollectOn []int
}

// Packet is a packet, or anything else that took its time, whose events are wanted.
type Packet struct {
	ID uint32
	// BeginNs is when it was due, EndNs when it had arrived.
	BeginNs, EndNs int64
	// LatencyNs is what the slowest are told by.
	LatencyNs int64
	// Ordinary packets were picked at random: the one of place Place takes the place of
	// the one that had it.
	Ordinary bool
	Place    int
}

// Recording is what was kept.
type Recording struct {
	// Events are in the order of their begin.
	Events []result.Event
	Trace  result.Trace
	// Notes are what a reader should know, such as packets whose events could not be kept.
	Notes []string
}

// The defaults of Config.
const (
	DefaultBufferBytes = 1 << 20
	DefaultPackets     = 200
)

// MarginNs is how long before a packet was due, and after it had arrived, events are kept
// as well: what kept it waiting began before.
const MarginNs = 50_000

// cpusMost is CPUS_MAX of bpf/record.h.
const cpusMost = 4096

// complete fills in defaults.
func (c *Config) complete() error {
	if c.CPUs == nil {
		online, err := os.ReadFile("/sys/devices/system/cpu/online")
		if err != nil {
			return fmt.Errorf("read which CPUs are online: %w", err)
		}
		if c.CPUs, err = host.ParseCPUList(strings.TrimSpace(string(online))); err != nil {
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

package busypoll

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
)

// Statistics are what nines-poller reports in a file that it maps.
type Statistics struct {
	PID       int           `json:"pid"`
	Mechanism string        `json:"mechanism"`
	Running   time.Duration `json:"running_ns"` // at Updated
	// Updated is when it last wrote the times, by CLOCK_MONOTONIC.
	Updated time.Duration      `json:"updated_ns"`
	Threads []ThreadStatistics `json:"threads"`
}

// ThreadStatistics are those of one polling thread.
type ThreadStatistics struct {
	TID   int    `json:"tid"`
	CPU   int    `json:"cpu"`
	State string `json:"state"`
	// Slices are the calls that polled; nil if the kernel's own thread polls.
	Slices *uint64 `json:"slices,omitempty"`
	// Packets are those that it received; nil if the thread does not count.
	Packets *uint64 `json:"packets,omitempty"`
	// CPUTime is its time on a CPU, and Waited its wait for one while others had it.
	CPUTime time.Duration `json:"cpu_time_ns"`
	Waited  time.Duration `json:"waited_ns"`
	// Slept is the time that an adaptive thread slept, in Naps sleeps.
	Slept time.Duration `json:"slept_ns"`
	Naps  uint64        `json:"naps"`
	// Preemptions are its involuntary context switches.
	Preemptions uint64 `json:"preemptions"`
	// BackOffs is how often the watchdog stopped it, BackedOff for how long in total.
	BackOffs  uint64        `json:"back_offs"`
	BackedOff time.Duration `json:"backed_off_ns"`
}

// The layout of busypoll/poller/statistics.h.
const (
	statisticsMagic   = 0x316c6c6f70656e69
	statisticsThreads = 64
	statisticsUnknown = ^uint64(0)
)

type rawStatistics struct {
	Magic, Size, PID, Threads, Started, Updated uint64
	Mechanism                                   [16]byte
	Reserved                                    [8]uint64
	Thread                                      [statisticsThreads]rawThread
}

type rawThread struct {
	TID, CPU, State, Slices, Packets, CPUTime, Waited, Slept, Preemptions, BackOffs, BackedOff, Naps uint64
}

// StaleThread is the state of a thread whose NAPI instances are gone: it has given its
// devices back to their interrupts.
const StaleThread = "stale"

var threadStates = []string{"starting", "polling", "sleeping", "backed off", "ended", StaleThread}

// ReadStatistics reads the file of a poller, running or ended.
func ReadStatistics(path string) (*Statistics, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseStatistics(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parseStatistics(text []byte) (*Statistics, error) {
	var raw rawStatistics
	if _, err := binary.Decode(text, binary.NativeEndian, &raw); err != nil || raw.Magic != statisticsMagic {
		return nil, errors.New("these are not a poller's statistics of this version")
	}
	if raw.Threads > statisticsThreads {
		return nil, fmt.Errorf("it has %d threads, and %d are the most", raw.Threads, statisticsThreads)
	}
	name, _, _ := bytes.Cut(raw.Mechanism[:], []byte{0})
	s := &Statistics{
		PID: int(raw.PID), Mechanism: string(name), Updated: time.Duration(raw.Updated),
		Running: time.Duration(max(raw.Updated, raw.Started) - raw.Started), Threads: []ThreadStatistics{},
	}
	for _, t := range raw.Thread[:raw.Threads] {
		state := "?"
		if t.State < uint64(len(threadStates)) {
			state = threadStates[t.State]
		}
		s.Threads = append(s.Threads, ThreadStatistics{
			TID: int(t.TID), CPU: int(t.CPU), State: state, Slices: known(t.Slices), Packets: known(t.Packets),
			CPUTime: time.Duration(t.CPUTime), Waited: time.Duration(t.Waited), Slept: time.Duration(t.Slept), Naps: t.Naps,
			Preemptions: t.Preemptions, BackOffs: t.BackOffs, BackedOff: time.Duration(t.BackedOff),
		})
	}
	return s, nil
}

func known(value uint64) *uint64 {
	if value == statisticsUnknown {
		return nil
	}
	return &value
}

package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"nines.dev/nines/result"
)

// Recorder records from Start to Stop. Its methods may be called from any goroutine.
type Recorder struct {
	config   Config
	programs *programs
	mapped   [][]byte
	// everywhere is the affinity that the collector's thread gets back at the end.
	everywhere unix.CPUSet

	stopping atomic.Bool
	done     chan struct{}
	mu       sync.Mutex // protects the collector
	collector
	began  int64 // CLOCK_MONOTONIC
	cost   cost
	clock  clock
	delays []byte // the histograms of stages
}

// Start starts recording. The error is an exit.MissingError if the kernel or the privileges do not
// allow it.
func Start(config Config) (_ *Recorder, err error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	r := &Recorder{config: config, done: make(chan struct{})}
	if err := unix.SchedGetaffinity(0, &r.everywhere); err != nil {
		return nil, fmt.Errorf("read the CPUs of this process: %w", err)
	}
	each := uint32(ceilPowerOfTwo(uint64(config.BufferBytes)) / recordBytes)
	senders := min(each, sendersRecords)
	total := uint64(each)*uint64(len(config.CPUs)) + uint64(senders)*uint64(len(config.Senders))
	if total >= 1<<32 {
		return nil, fmt.Errorf("the recorder's buffers for %d CPUs are too large; use a smaller tracing.buffer", len(config.CPUs))
	}
	if r.programs, err = load(room{records: uint32(total), cpus: uint32(len(config.CPUs))}, config.Stages); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.release())
		}
	}()
	if err := r.mapRings(each, senders); err != nil {
		return nil, err
	}
	if r.names, err = readNames("/"); err != nil {
		return nil, err
	}
	if config.Stages != nil {
		r.tables.nodes = config.Stages.Nodes
	}
	r.keeper = *newKeeper(config.Slowest, config.Ordinary)
	r.heads = make([]uint64, len(r.rings))
	if err := r.programs.attach(); err != nil {
		return nil, err
	}
	r.began = monotonic()
	r.cost.begin(r.began)
	r.markReaders(config.Threads)
	go r.run(r)
	return r, nil
}

// sendersRecords is the number of records for a CPU that only sends interrupts.
const sendersRecords = 8192

// mapRings tells the programs which CPUs record what, and maps the memory of the rings.
func (r *Recorder) mapRings(each, senders uint32) error {
	states, err := r.mapped1("cpus", stateBytes*cpusMost)
	if err != nil {
		return err
	}
	var total uint32
	for range r.config.CPUs {
		total += each
	}
	for range r.config.Senders {
		total += senders
	}
	records, err := r.mapped1("records", int(total)*recordBytes)
	if err != nil {
		return err
	}
	if r.tables.threads, err = r.mapped1("threads", threadsCount*entryBytes); err != nil {
		return err
	}
	if r.tables.devices, err = r.mapped1("devices", devicesCount*entryBytes); err != nil {
		return err
	}
	if r.config.Stages != nil {
		if r.delays, err = r.mapped1("delays", len(r.config.CPUs)*delaysEach*delayBytes); err != nil {
			return err
		}
		spaces, err := r.mapped1("spaces", spacesCount*8)
		if err != nil {
			return err
		}
		for number := range r.config.Stages.Nodes {
			binary.LittleEndian.PutUint64(spaces[number%spacesCount*8:], uint64(number))
		}
		shared, err := r.mapped1("clock", clockWords*8)
		if err != nil {
			return err
		}
		r.clock.shared = unsafe.Slice((*uint64)(unsafe.Pointer(&shared[0])), clockWords)
	}
	first := uint32(0)
	add := func(cpu int, count, kinds uint32) {
		state := states[cpu*stateBytes:][:stateBytes]
		binary.LittleEndian.PutUint32(state[8:], first)
		binary.LittleEndian.PutUint32(state[12:], count-1)
		binary.LittleEndian.PutUint32(state[stateKinds:], kinds)
		binary.LittleEndian.PutUint32(state[statePlace:], uint32(len(r.rings)))
		r.rings = append(r.rings, ring{cpu: cpu, state: state, records: records[int(first)*recordBytes:][:int(count)*recordBytes]})
		first += count
	}
	for _, cpu := range r.config.CPUs {
		add(cpu, each, allKinds)
	}
	for _, cpu := range r.config.Senders {
		add(cpu, senders, senderKinds)
	}
	return nil
}

// mapped1 maps the memory of an array.
func (r *Recorder) mapped1(name string, bytes int) ([]byte, error) {
	page := unix.Getpagesize()
	memory, err := unix.Mmap(r.programs.collection.Maps[name].FD(), 0, (bytes+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the recorder's %s: %w", name, err)
	}
	r.mapped = append(r.mapped, memory)
	return memory, nil
}

// AddThreads adds further threads that handle the packets.
func (r *Recorder) AddThreads(threads ...result.TracedThread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.config.Threads = append(r.config.Threads, threads...)
	r.markReaders(threads)
}

// markReaders marks the threads that packets wake once they are in a socket. A thread that polls
// devices is woken by packets still in transit.
func (r *Recorder) markReaders(threads []result.TracedThread) {
	for _, t := range threads {
		if t.Role != result.RolePoller {
			r.tables.markReader(uint32(t.TID))
		}
	}
}

// Readers tells of threads that may read packets, so that the stages show when they are woken. It reports whether there is
// room for all: the other half is for the threads that are known to handle packets.
func (r *Recorder) Readers(threads []Thread) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range threads {
		if r.tables.readers >= readersMost/2 {
			return false
		}
		r.tables.markReader(uint32(t.TID))
	}
	return true
}

// Keep announces a packet: its events are kept if it is among the slowest.
func (r *Recorder) Keep(p Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.announce(p)
}

// Follow reads an engine's announcements from now on.
func (r *Recorder) Follow(n Notices) error {
	s, err := newSource(n)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources = append(r.sources, s)
	return nil
}

// Stop ends the recording and returns what was kept.
func (r *Recorder) Stop() (Recording, error) {
	r.stopping.Store(true)
	<-r.done
	// Pending stretches are over: their announcers are done.
	ended := monotonic()
	r.look(ended + MarginNs)
	if err := errors.Join(r.cost.end(r.programs, r.written()), r.programs.detach()); err != nil {
		return Recording{}, errors.Join(err, r.release())
	}
	recording := r.recording()
	recording.Trace.ElapsedNs = ended - r.began
	return recording, r.release()
}

// written is the number of records of the recorded CPUs.
func (r *Recorder) written() (records uint64) {
	for _, ring := range r.rings[:len(r.config.CPUs)] {
		records += ring.head()
	}
	return records
}

// recording converts what the keeper holds to events.
func (r *Recorder) recording() Recording {
	r.prune()
	out := Recording{Trace: result.Trace{
		Threads: slices.Clone(r.config.Threads), Slowest: r.config.Slowest, ThresholdNs: r.threshold(),
		BufferBytes: int64(ceilPowerOfTwo(uint64(r.config.BufferBytes))), Missing: r.programs.missing,
		Stretches: [][2]int64{},
	}}
	out.Trace.Events = r.written()
	for _, s := range r.held() {
		out.Trace.Stretches = append(out.Trace.Stretches, [2]int64{s.begin, s.end})
	}
	for _, p := range r.joined() {
		out.Events = append(out.Events, eventsOf(p, r.names)...)
		out.Trace.Lost += p.lost
		if hole := p.hole(); p.lost > 0 && hole.begin < hole.end {
			out.Trace.Losses = append(out.Trace.Losses, result.Loss{CPU: p.cpu, BeginNs: hole.begin, EndNs: hole.end, Events: p.lost, Mostly: p.commonest()})
		}
	}
	sortEvents(out.Events)
	if r.config.Stages != nil {
		r.tables.noteDelays(r.names, r.delays) // of devices that no kept record names
		out.Trace.Stages = stageDelays(r.delays, r.names)
		out.Trace.StagesEvery = max(r.config.Stages.Every, 1)
	}
	out.Trace.Kept = uint64(len(out.Events))
	if r.missed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the recorder missed %d announcements of packets: an engine makes them faster than it could read", r.missed))
	}
	if r.evicted+r.evictedOrdinary > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the events of %d of the slowest packets and of %d ordinary ones were dropped for lack of memory: more than %d happened around all of them", r.evicted, r.evictedOrdinary, recordsLimit))
	}
	if skipped := r.programs.skipped(); skipped > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the kernel ran the recorder's programs %d times less than there were events, because one was already running on the CPU: these events are missing", skipped))
	}
	out.Trace.CostNs = r.cost.of(out.Trace.Events)
	return out
}

func (r *Recorder) release() error {
	var errs []error
	for _, memory := range r.mapped {
		errs = append(errs, unix.Munmap(memory))
	}
	r.mapped = nil
	return errors.Join(append(errs, r.programs.close())...)
}

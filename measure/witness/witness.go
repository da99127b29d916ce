package witness

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// object holds the programs; `make build` compiles them from their sources in bpf.
//
//go:embed bpf
var object embed.FS

// The sizes of bpf/witness.h.
const (
	rowBytes      = 24
	usualBytes    = 32
	cpuBytes      = 48
	witnessesMost = 1024
	cpusMost      = 4096
	threadsMost   = 8192
	floorNs       = 1000
	factor        = 8
)

// kinds are the words for enum kind of bpf/witness.h.
var kinds = map[uint16]string{1: "wake", 2: "preempted", 3: "stopped", 4: "softirq", 5: "late tick"}

// thread is struct thread of bpf/witness.h.
type thread struct {
	SinceNs                       uint64
	State, Witness, Forks, Unused uint32
}

// ofThread is the state of a thread of which nothing is known yet (RUNNING).
const ofThread = 0

// Watch lists interruptions from its start until it is closed. Its methods may be called from any goroutine.
type Watch struct {
	collection         *ebpf.Collection
	attached           []link.Link
	rows, usuals, cpus []byte
	ticks              []int      // perf events
	mu                 sync.Mutex // protects what follows
	names              []string
	periods            map[string]time.Duration // of ticks
	room               int
}

// Row is an interruption; BeginNs is of CLOCK_MONOTONIC.
type Row struct {
	Witness           string
	Kind              string
	CPU               int
	BeginNs, LengthNs int64
}

// Told is what one witness leaves out.
type Told struct {
	Witness string
	// ThresholdNs is the length from which all are listed, but for Overflow, for which there was no room. UnlistedNs is by
	// how much others took longer than usual.
	ThresholdNs, UnlistedNs int64
	Overflow                uint64
	// Times is how many waits that a quiet host has as well the threshold is learnt from.
	Times uint64
}

// Options say what is watched.
type Options struct {
	// Room is how many interruptions the list takes.
	Room int
	// Softirqs also watches each softirq that receives or sends packets, on the CPUs of CPU. That costs about 0.2 µs each.
	Softirqs bool
}

// softirqs are the tracepoints of Options.Softirqs.
var softirqs = []string{"softirq_raise", "softirq_entry"}

// Start begins with no witness. It needs root's rights and type information of the kernel (BTF), since Linux 5.18.
func Start(options Options) (_ *Watch, err error) {
	text, err := object.ReadFile("bpf/witness.bpf.o")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this nines was built without its BPF programs; build it with make build")
	}
	if err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the programs: %w", err)
	}
	room := options.Room
	spec.Maps["rows"].MaxEntries = uint32(room)
	w := &Watch{room: room, periods: map[string]time.Duration{}}
	if w.collection, err = ebpf.NewCollection(spec); err != nil {
		return nil, fmt.Errorf("load the programs: %w", err)
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	for _, one := range []struct {
		to    *[]byte
		name  string
		bytes int
	}{{&w.rows, "rows", room * rowBytes}, {&w.usuals, "usuals", witnessesMost * usualBytes}, {&w.cpus, "cpus", cpusMost * cpuBytes}} {
		if *one.to, err = mapped(w.collection.Maps[one.name], one.bytes); err != nil {
			return nil, fmt.Errorf("map the programs' %s: %w", one.name, err)
		}
	}
	for name, program := range w.collection.Programs {
		if program.Type() == ebpf.PerfEvent || !options.Softirqs && slices.Contains(softirqs, name) {
			continue // the former is of Ticks
		}
		attached, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return nil, fmt.Errorf("attach %s: %w", name, err)
		}
		w.attached = append(w.attached, attached)
	}
	return w, nil
}

// mapped is the memory of an array, faulted in.
func mapped(of *ebpf.Map, bytes int) ([]byte, error) {
	page := unix.Getpagesize()
	return unix.Mmap(of.FD(), 0, (bytes+page-1)/page*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// named is the number of a witness.
func (w *Watch) named(name string) (uint32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.Index(w.names, name)
	if at < 0 {
		at = len(w.names)
		w.names = append(w.names, name)
	}
	if at >= witnessesMost {
		return 0, fmt.Errorf("more than %d witnesses", witnessesMost)
	}
	return uint32(at), nil
}

// Thread lists from now on when one thread could run and did not. With children it does so for all that it starts, too.
func (w *Watch) Thread(witness string, tid int, children bool) error {
	at, err := w.named(witness)
	if err != nil {
		return err
	}
	one := thread{State: ofThread, Witness: at}
	if children {
		one.Forks = 1
	}
	if err := w.collection.Maps["threads"].Put(uint32(tid), one); err != nil {
		return fmt.Errorf("watch thread %d of %s: %w", tid, witness, err)
	}
	return nil
}

// Known says that a thread belongs to the packets' way and tells of itself: to wait for it is no interruption.
func (w *Watch) Known(tid int) error {
	if err := w.collection.Maps["threads"].Put(uint32(tid), thread{Witness: witnessesMost}); err != nil {
		return fmt.Errorf("thread %d: %w", tid, err)
	}
	return nil
}

// CPU lists from now on how late softirqs that receive and send packets begin on a CPU, with Options.Softirqs.
func (w *Watch) CPU(witness string, cpu int) error {
	at, err := w.named(witness)
	if err != nil {
		return err
	}
	if cpu < 0 || cpu >= cpusMost {
		return fmt.Errorf("CPU %d cannot be watched: %d are known", cpu, cpusMost)
	}
	entry := w.cpus[cpu*cpuBytes:]
	binary.NativeEndian.PutUint32(entry[32:], at)
	binary.NativeEndian.PutUint32(entry[36:], 1)
	return nil
}

// Stop ends the listing; what was listed stays until Close.
func (w *Watch) Stop() {
	for _, one := range w.attached {
		_ = one.Close() // the kernel detaches it in any case
	}
	for _, event := range w.ticks {
		_ = unix.Close(event)
	}
	w.attached, w.ticks = nil, nil
}

// Rows are the interruptions listed so far, not in order.
func (w *Watch) Rows() []Row {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Row
	for at := 0; at < w.room; at++ {
		row := w.rows[at*rowBytes:][:rowBytes]
		length := int64(binary.NativeEndian.Uint64(row[8:]))
		if length == 0 {
			continue // it is the end, or a row that is being written
		}
		list = append(list, Row{
			Witness: w.names[binary.NativeEndian.Uint32(row[16:])], Kind: kinds[binary.NativeEndian.Uint16(row[20:])],
			CPU: int(binary.NativeEndian.Uint16(row[22:])), BeginNs: int64(binary.NativeEndian.Uint64(row)), LengthNs: length,
		})
	}
	return list
}

// Told says of each witness what it leaves out.
func (w *Watch) Told() []Told {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Told
	for at, name := range w.names {
		usual := w.usuals[at*usualBytes:][:usualBytes]
		field := func(i int) uint64 { return binary.NativeEndian.Uint64(usual[8*i:]) }
		told := Told{Witness: name, ThresholdNs: floorNs, UnlistedNs: int64(field(2)), Overflow: field(3), Times: field(1)}
		if count := field(1); count > 0 {
			told.ThresholdNs = max(told.ThresholdNs, int64(factor*field(0)/count))
		}
		// What is shorter may be over before the next tick.
		told.ThresholdNs = max(told.ThresholdNs, int64(w.periods[name]))
		list = append(list, told)
	}
	return list
}

// Close ends the listing and forgets the list.
func (w *Watch) Close() {
	w.Stop()
	for _, memory := range [][]byte{w.rows, w.usuals, w.cpus} {
		if memory != nil {
			_ = unix.Munmap(memory)
		}
	}
	w.rows, w.usuals, w.cpus = nil, nil, nil
	w.collection.Close()
}

// Room is how many interruptions to expect at most of all witnesses in a time: where threads sleep between packets, each
// wake-up may be one.
func Room(lasts time.Duration) int {
	return min(max((int(lasts/time.Second)+1)<<16, 1<<17), 1<<21)
}

package witness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The ticks of a CPU take mostShare of it at most, and come each leastPeriod if that allows it. One takes 1 µs on a machine of
// one's own, and 13 µs where each setting of a timer leaves the virtual machine; what is measured to take more than 50 µs was
// something else.
const (
	leastPeriod = 250 * time.Microsecond
	mostPeriod  = 10 * time.Millisecond
	mostShare   = 0.005
)

// Ticks lists from now on how late a timer rings on a CPU: a hypervisor that takes the CPU away makes it late, and so does
// a kernel that serves no interrupts. It needs perf events.
func (w *Watch) Ticks(witness string, cpu int) error {
	at, err := w.named(witness)
	if err != nil {
		return err
	}
	if cpu < 0 || cpu >= cpusMost {
		return fmt.Errorf("CPU %d cannot be watched: %d are known", cpu, cpusMost)
	}
	period, err := tickPeriod()
	if err != nil {
		return err
	}
	entry := w.cpus[cpu*cpuBytes:]
	binary.NativeEndian.PutUint32(entry[40:], at)
	binary.NativeEndian.PutUint32(entry[44:], uint32(period))
	event, err := openTicks(cpu, period, w.collection.Programs["tick"])
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ticks, w.periods[witness] = append(w.ticks, event), period
	return nil
}

// openTicks has a timer ring on a CPU until the descriptor is closed, and runs a program then, unless nil.
func openTicks(cpu int, period time.Duration, program *ebpf.Program) (int, error) {
	attributes := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(period),
	}
	event, err := unix.PerfEventOpen(&attributes, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open a perf event on CPU %d: %w", cpu, err)
	}
	if program != nil {
		err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, program.FD())
	}
	if err = errors.Join(err, unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_ENABLE, 0)); err != nil {
		return -1, fmt.Errorf("attach to a perf event on CPU %d: %w", cpu, errors.Join(err, unix.Close(event)))
	}
	return event, nil
}

// tickPeriod is how often a timer may ring, by what it costs on this machine; it is measured once.
var tickPeriod = sync.OnceValues(func() (time.Duration, error) {
	const enough, tries = 50, 4
	var taken []time.Duration
	for try := 0; len(taken) < enough && try < tries; try++ {
		some, err := interrupted(leastPeriod, 100*leastPeriod)
		if err != nil {
			return 0, err
		}
		taken = append(taken, some...)
	}
	return periodOf(taken), nil
})

// periodOf is the period at which a timer takes mostShare of a CPU, if it interrupted a thread for these times: most of
// them were its own.
func periodOf(taken []time.Duration) time.Duration {
	if len(taken) == 0 {
		return leastPeriod
	}
	slices.Sort(taken)
	each := taken[len(taken)/2]
	return min(max(leastPeriod, time.Duration(float64(each)/mostShare)), mostPeriod)
}

// interrupted is for how long, each time, this thread does not run while a timer rings on its CPU.
func interrupted(period, lasts time.Duration) (taken []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, fmt.Errorf("read the CPUs of this process: %w", err)
	}
	cpu := 0
	for !may.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, fmt.Errorf("run on CPU %d: %w", cpu, err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &may)) }()
	event, err := openTicks(cpu, period, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(event)) }()
	const least = 500 * time.Nanosecond // reading the clock takes less
	begun := time.Now()
	for before := begun; before.Sub(begun) < lasts; {
		now := time.Now()
		if gap := now.Sub(before); gap > least {
			taken = append(taken, gap)
		}
		before = now
	}
	return taken, nil
}

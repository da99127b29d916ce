package napi

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The attributes of napi, from include/uapi/linux/netdev.h.
const (
	attributeIfIndex    = 1
	attributeID         = 2
	attributeIRQ        = 3
	attributePID        = 4
	attributeDefer      = 5 // 6.13, as those below
	attributeGROFlush   = 6
	attributeIRQSuspend = 7
	attributeThreaded   = 8 // about 6.17
)

// Threaded says what polls an instance, from enum netdev_napi_threaded.
type Threaded uint32

// The values of Threaded.
const (
	// Softirq polls in the softirq that was raised, the default.
	Softirq Threaded = 0
	// Thread is a kernel thread that is woken instead.
	Thread Threaded = 1
	// BusyThread is a thread that never sleeps (Linux 6.19).
	BusyThread Threaded = 2
)

// String is the kernel's word for it.
func (t Threaded) String() string {
	switch t {
	case Softirq:
		return "disabled"
	case Thread:
		return "enabled"
	case BusyThread:
		return "busy-poll"
	}
	return fmt.Sprintf("threaded(%d)", uint32(t))
}

// Instance is a NAPI instance: the kernel polls it for one or more queues of a device.
type Instance struct {
	// ID is unique on the host, across namespaces.
	ID uint32 `json:"id"`
	// Index is the device's in its namespace.
	Index int `json:"index"`
	// IRQ is 0 if the instance has none.
	IRQ int `json:"irq,omitempty"`
	// PID is the kernel thread of a threaded instance, otherwise 0.
	PID int `json:"pid,omitempty"`
	// Threaded is what polls; kernels before 6.17 do not report it, and it is derived
	// from PID.
	Threaded Threaded `json:"threaded"`
	// DeferHardIRQs is how many empty polls in a row keep the interrupt off, and
	// GROFlushTimeout is for how long.
	DeferHardIRQs   int           `json:"defer_hard_irqs"`
	GROFlushTimeout time.Duration `json:"gro_flush_timeout_ns"`
	// IRQSuspendTimeout is how long the interrupt stays off between polls of an
	// application that prefers to poll.
	IRQSuspendTimeout time.Duration `json:"irq_suspend_timeout_ns"`
}

// ErrNoNAPIGet says that the kernel does not list NAPI instances.
var ErrNoNAPIGet = errors.New("the kernel does not list NAPI instances; it is older than 6.8")

// List returns the instances of the devices with these indexes, or without any of all
// devices of the namespace that are up, sorted by device and ID. A veth has instances only
// while it uses NAPI. ErrNoFamily or ErrNoNAPIGet on old kernels.
func List(indexes ...int) ([]Instance, error) {
	answers, err := call(commandNAPIGet, unix.NLM_F_DUMP)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, ErrNoNAPIGet
	}
	if err != nil {
		return nil, fmt.Errorf("list NAPI instances: %w", err)
	}
	var list []Instance
	for _, a := range answers {
		instance, err := parse(a)
		if err != nil {
			return nil, fmt.Errorf("list NAPI instances: %w", err)
		}
		if len(indexes) == 0 || slices.Contains(indexes, instance.Index) {
			list = append(list, instance)
		}
	}
	slices.SortFunc(list, func(a, b Instance) int {
		if a.Index != b.Index {
			return a.Index - b.Index
		}
		return int(a.ID) - int(b.ID)
	})
	return list, nil
}

func parse(answer []byte) (Instance, error) {
	values, err := numbers(answer)
	if err != nil {
		return Instance{}, err
	}
	i := Instance{
		ID: uint32(values[attributeID]), Index: int(values[attributeIfIndex]),
		IRQ: int(int32(values[attributeIRQ])), PID: int(values[attributePID]),
		DeferHardIRQs:     int(values[attributeDefer]),
		GROFlushTimeout:   time.Duration(values[attributeGROFlush]),
		IRQSuspendTimeout: time.Duration(values[attributeIRQSuspend]),
	}
	if threaded, told := values[attributeThreaded]; told {
		i.Threaded = Threaded(threaded)
	} else if i.PID > 0 {
		i.Threaded = Thread
	}
	if i.ID == 0 || i.Index == 0 {
		return Instance{}, errors.New("an instance without id or device")
	}
	return i, nil
}

// Get returns one instance; unix.ENOENT if it is gone.
func Get(id uint32) (Instance, error) {
	answers, err := call(commandNAPIGet, 0, nl.NewRtAttr(attributeID, nl.Uint32Attr(id)))
	if err != nil {
		return Instance{}, fmt.Errorf("NAPI instance %d: %w", id, err)
	}
	if len(answers) != 1 {
		return Instance{}, fmt.Errorf("NAPI instance %d: %d answers", id, len(answers))
	}
	return parse(answers[0])
}

// SetThreaded sets what polls an instance (netlink, about Linux 6.17; BusyThread 6.19).
//
//	ynl --family netdev --do napi-set --json '{"id": ID, "threaded": "busy-poll"}'
func SetThreaded(id uint32, t Threaded) error {
	return set(id, attributeThreaded, uint64(t), 4)
}

// SetIRQSuspendTimeout sets how long interrupts stay off between an application's polls
// (Linux 6.13).
//
//	ynl --family netdev --do napi-set --json '{"id": ID, "irq-suspend-timeout": NS}'
func SetIRQSuspendTimeout(id uint32, timeout time.Duration) error {
	return set(id, attributeIRQSuspend, uint64(timeout), 8)
}

// set changes one attribute. Attributes of type uint have 4 or 8 bytes, as needed
// (nla_get_uint in include/net/netlink.h).
func set(id uint32, attribute int, value uint64, size int) error {
	data := nl.Uint64Attr(value)
	if size == 4 {
		data = nl.Uint32Attr(uint32(value))
	}
	_, err := call(commandNAPISet, unix.NLM_F_ACK, nl.NewRtAttr(attributeID, nl.Uint32Attr(id)), nl.NewRtAttr(attribute, data))
	if err != nil {
		return fmt.Errorf("set NAPI instance %d: %w", id, err)
	}
	return nil
}

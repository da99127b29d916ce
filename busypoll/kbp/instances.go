package kbp

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// Instance is a NAPI instance of a device: the kernel polls it for one or more queues.
type Instance struct {
	// IfIndex and Device are its device's index and name in the namespace.
	IfIndex int    `json:"ifindex"`
	Device  string `json:"device"`
	// Index is its position among those of the device, in the order in which the driver
	// created them; it stays the same when the driver recreates them.
	Index int `json:"index"`
	// NAPI is the kernel's ID for it; 0 for instances that only send, or are gone.
	NAPI uint32 `json:"napi_id"`
	// Kind is "rx", "tx" for instances that only clean up after sending, or "gone"
	// while the device is down.
	Kind string `json:"kind"`
	// Group is the number that it was chosen with; 0 if it is not polled. Longest is
	// the longest sleep of the group's thread.
	Group   uint32        `json:"group"`
	Longest time.Duration `json:"longest_ns"`
	// Thread is the ID of the thread that polls it.
	Thread int `json:"thread"`
	// Owned is true if the thread owns it, so that no softirq polls it.
	Owned bool `json:"owned"`
	// Polls are the thread's polls, Packets what they received, Empty the polls without
	// packets.
	Polls   uint64 `json:"polls"`
	Packets uint64 `json:"packets"`
	Empty   uint64 `json:"empty"`
	// Handovers is how often the patch gave it to the thread instead of a softirq.
	Handovers uint64 `json:"handovers"`
	// Sleeps is how often the thread slept.
	Sleeps uint64 `json:"sleeps"`
}

// controlFile is the module's file for the calling thread's network namespace.
const controlFile = "/proc/thread-self/net/" + Name

// formatVersion is KBP_FORMAT of busypoll/kmod/kbp/control.c.
const formatVersion = 1

// List returns the instances of the namespace's devices. The error is an exit.MissingError
// if the module is not loaded.
func List() ([]Instance, error) {
	text, err := os.ReadFile(controlFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notLoaded()
	}
	if err != nil {
		return nil, err
	}
	list, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", controlFile, err)
	}
	return list, nil
}

func parse(text string) ([]Instance, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var name, state string
	var format int
	if _, err := fmt.Sscan(lines[0], &name, &format, &state); err != nil || name != Name || format != formatVersion {
		return nil, fmt.Errorf("this version of nines does not know its format %q: nines kbp module unload, build and load", lines[0])
	}
	list := []Instance{}
	for _, line := range lines[min(2, len(lines)):] {
		var i Instance
		var owned int
		fields := strings.Fields(line)
		if len(fields) != 14 {
			return nil, fmt.Errorf("%q has %d fields, not 14", line, len(fields))
		}
		_, err := fmt.Sscan(line, &i.IfIndex, &i.Device, &i.Index, &i.NAPI, &i.Kind, &i.Group, (*int64)(&i.Longest), &i.Thread, &owned,
			&i.Polls, &i.Packets, &i.Empty, &i.Handovers, &i.Sleeps)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		i.Owned = owned != 0
		list = append(list, i)
	}
	return list, nil
}

// Choice says what is polled, and how.
type Choice struct {
	// IfIndex is the device's index, Index the instance's position in the device.
	IfIndex, Index int
	// Group is the number of the instances that share a thread: not 0, and unique
	// (NewGroup).
	Group uint32
	// Longest is the longest sleep of the thread without packets; 0: it does not sleep.
	Longest time.Duration
}

// Poll starts to poll an instance.
func Poll(c Choice) error {
	return write(fmt.Sprintf("poll %d %d %d %d", c.IfIndex, c.Index, c.Group, c.Longest.Nanoseconds()))
}

// NewGroup is a random number, which no other group has in practice.
func NewGroup() uint32 { return rand.Uint32N(math.MaxInt32) + 1 }

// Leave gives an instance back to the kernel's softirq. The error is unix.ENOENT if it was
// not polled, and unix.ENODEV if the device does not exist.
func Leave(ifindex, index int) error {
	return write(fmt.Sprintf("leave %d %d", ifindex, index))
}

func write(command string) error {
	file, err := os.OpenFile(controlFile, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return notLoaded()
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(command)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("busy polling: %s: %w", command, explain(err))
	}
	return nil
}

// reasons are the meanings of the module's errors (busypoll/kmod/kbp/choose.c) where the
// kernel's text says less.
var reasons = map[unix.Errno]string{
	unix.ENODEV: "the device does not exist",
	unix.ENOENT: "the NAPI instance does not exist; check its number, that the device is up, and that a veth has GRO",
	unix.EBUSY:  "it is already polled",
	unix.EINVAL: "another instance of its group has another longest sleep",
	unix.EAGAIN: "the patch is not in effect",
}

func explain(err error) error {
	var number unix.Errno
	if errors.As(err, &number) && reasons[number] != "" {
		return worded{errors.New(reasons[number]), number}
	}
	return err
}

// worded has its own text and also matches another error in errors.Is.
type worded struct {
	error
	is error
}

func (w worded) Unwrap() error        { return w.error }
func (w worded) Is(target error) bool { return errors.Is(w.is, target) }

// notLoaded also matches fs.ErrNotExist, because polling ends with the module.
func notLoaded() error {
	reason, remedy := Lack()
	if reason == "" {
		reason, remedy = "the module "+Name+" is not loaded", "nines kbp module load"
	}
	return worded{&exit.MissingError{Capability: "busy polling by a live patch", Reason: reason, Remedy: remedy}, fs.ErrNotExist}
}

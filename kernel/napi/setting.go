package napi

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/ethtool"
)

// Setting names something of a device that can be read and written as text, so that a
// journal can store it:
//
//	attribute/threaded          a file below /sys/class/net/DEVICE
//	feature/rx-gro              an offload by the kernel's name: 0 or 1, as requested
//	napi/ID/threaded            who polls an instance: 0, 1, or 2 for a thread that never sleeps
//	napi/ID/irq_suspend         how long it suspends interrupts, in nanoseconds
//	thread/TID                  where an instance's kernel thread runs: fifo:50@2,3
//
// Other packages add kinds of their own, by Register.
type Setting string

// Settings by their parts.
func Attribute(name string) Setting   { return Setting("attribute/" + name) }
func Feature(name string) Setting     { return Setting("feature/" + name) }
func ThreadedOf(id uint32) Setting    { return Setting(fmt.Sprintf("napi/%d/threaded", id)) }
func IRQSuspendOf(id uint32) Setting  { return Setting(fmt.Sprintf("napi/%d/irq_suspend", id)) }
func ThreadPlacement(tid int) Setting { return Setting(fmt.Sprintf("thread/%d", tid)) }

// Kind reads and writes the settings of one kind; rest is what follows the kind in the
// setting's name.
type Kind struct {
	Read  func(device, rest string) (string, error)
	Write func(device, rest, value string) error
}

var kinds = map[string]Kind{
	"attribute": {ReadAttribute, WriteAttribute},
	"feature":   {readFeature, writeFeature},
	"napi":      {readInstance, writeInstance},
	"thread":    {readThread, writeThread},
}

// Register adds a kind of setting. Call it from init.
func Register(name string, k Kind) { kinds[name] = k }

func (s Setting) kind() (k Kind, rest string, err error) {
	name, rest, _ := strings.Cut(string(s), "/")
	k, known := kinds[name]
	if !known {
		return k, rest, fmt.Errorf("setting %q does not exist", s)
	}
	return k, rest, nil
}

// Read reads a setting of a device. IsGone tells from its error whether the thing exists.
func (s Setting) Read(device string) (string, error) {
	k, rest, err := s.kind()
	if err != nil {
		return "", err
	}
	return k.Read(device, rest)
}

// Write writes a setting of a device.
func (s Setting) Write(device, value string) error {
	k, rest, err := s.kind()
	if err != nil {
		return err
	}
	return k.Write(device, rest, value)
}

// IsGone is true for the error of a device, an instance or a thread that is gone.
func IsGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ESRCH)
}

func readFeature(device, name string) (string, error) {
	socket, err := ethtool.Open()
	if err != nil {
		return "", err
	}
	defer socket.Close()
	features, err := socket.ByName(device)
	if err != nil {
		return "", err
	}
	f, known := features[name]
	if !known {
		return "", fmt.Errorf("%s of %s: %w", name, device, ethtool.ErrNoFeature)
	}
	if f.Requested {
		return "1", nil
	}
	return "0", nil
}

func writeFeature(device, name, value string) error {
	socket, err := ethtool.Open()
	if err != nil {
		return err
	}
	defer socket.Close()
	return socket.Request(device, name, value == "1")
}

func splitInstance(rest string) (uint32, string, error) {
	number, field, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, "", fmt.Errorf("NAPI instance %q does not exist", number)
	}
	return uint32(id), field, nil
}

func readInstance(_, rest string) (string, error) {
	id, field, err := splitInstance(rest)
	if err != nil {
		return "", err
	}
	instance, err := Get(id)
	if err != nil {
		return "", err
	}
	switch field {
	case "threaded":
		return strconv.Itoa(int(instance.Threaded)), nil
	case "irq_suspend":
		return strconv.FormatInt(int64(instance.IRQSuspendTimeout), 10), nil
	}
	return "", fmt.Errorf("a NAPI instance has no %q", field)
}

func writeInstance(_, rest, value string) error {
	id, field, err := splitInstance(rest)
	if err != nil {
		return err
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a number", value)
	}
	switch field {
	case "threaded":
		return SetThreaded(id, Threaded(number))
	case "irq_suspend":
		return SetIRQSuspendTimeout(id, time.Duration(number))
	}
	return fmt.Errorf("a NAPI instance has no %q", field)
}

func readThread(device, rest string) (string, error) {
	tid, err := threadOf(device, rest)
	if err != nil {
		return "", err
	}
	p, err := PlacementOf(tid)
	return p.String(), err
}

func writeThread(device, rest, value string) error {
	tid, err := threadOf(device, rest)
	if err != nil {
		return err
	}
	p, err := ParsePlacement(value)
	if err != nil {
		return err
	}
	return p.Place(tid)
}

// threadOf is the thread's ID, if it is still a thread of the device. The kernel makes a
// new thread with another ID each time that threads are turned on.
func threadOf(device, text string) (int, error) {
	tid, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a thread", text)
	}
	threads, err := Threads(device)
	if err != nil {
		return 0, err
	}
	if _, ours := threads[tid]; !ours {
		return 0, fmt.Errorf("thread %d of %s: %w", tid, device, unix.ESRCH)
	}
	return tid, nil
}

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// DeviceRule allows the members of a control group to open devices.
type DeviceRule struct {
	// Kind is 'c' for character devices, 'b' for block devices.
	Kind byte
	// Major and Minor are the device's numbers; -1 is any.
	Major, Minor int64
	// Access is a combination of r, w and m: read, write, make the node.
	Access string
}

// String is the rule in the form of devices.allow of version 1 and of LXC.
func (r DeviceRule) String() string {
	number := func(n int64) string {
		if n < 0 {
			return "*"
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%c %s:%s %s", r.Kind, number(r.Major), number(r.Minor), r.Access)
}

// usualDevices are those that every program may expect; the numbers are in
// Documentation/admin-guide/devices.txt. Making a node opens nothing.
var usualDevices = []DeviceRule{
	{'c', -1, -1, "m"}, {'b', -1, -1, "m"},
	{'c', 1, 3, "rwm"}, // null
	{'c', 1, 5, "rwm"}, // zero
	{'c', 1, 7, "rwm"}, // full
	{'c', 1, 8, "rwm"}, // random
	{'c', 1, 9, "rwm"}, // urandom
	{'c', 5, 0, "rwm"}, // tty
	{'c', 5, 1, "rwm"}, // console
	{'c', 5, 2, "rwm"}, // ptmx
	{'c', 136, -1, "rwm"},
	{'c', 137, -1, "rwm"},
}

// latencyDevice keeps a CPU out of deep sleep while it is open, as the engine does in
// trials; the kernel assigns its minor number at boot.
const latencyDevice = "/dev/cpu_dma_latency"

// DeviceRules are the rules for the usual devices and for the given files. Files in mounted
// that are not devices are skipped.
func DeviceRules(devices, mounted []string) ([]DeviceRule, error) {
	rules := append([]DeviceRule{}, usualDevices...)
	for _, path := range append([]string{latencyDevice}, mounted...) {
		rule, err := deviceRule(path)
		if err == nil {
			rules = append(rules, rule)
		} else if !errors.Is(err, errNoDevice) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, path := range devices {
		rule, err := deviceRule(path)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

var errNoDevice = errors.New("is not a device")

func deviceRule(path string) (DeviceRule, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return DeviceRule{}, fmt.Errorf("device %s: %w", path, err)
	}
	rule := DeviceRule{Major: int64(unix.Major(st.Rdev)), Minor: int64(unix.Minor(st.Rdev)), Access: "rwm"}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		rule.Kind = 'c'
	case unix.S_IFBLK:
		rule.Kind = 'b'
	default:
		return DeviceRule{}, fmt.Errorf("%s %w", path, errNoDevice)
	}
	return rule, nil
}

package kbp

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Off is the state of an instance that is not polled.
const Off = "0"

// Polling says how a device's instance is polled, as text for SetPolling: Off, or
// GROUP/LONGEST in nanoseconds. unix.ENODEV or unix.ENOENT if there is no such instance.
func Polling(device string, index int) (string, error) {
	list, err := List()
	if err != nil {
		return "", err
	}
	for _, i := range list {
		switch {
		case i.Device != device || i.Index != index:
		case i.Group == 0:
			return Off, nil
		default:
			return state(i.Group, i.Longest), nil
		}
	}
	return "", fmt.Errorf("NAPI instance %d of %s: %w", index, device, unix.ENODEV)
}

func state(group uint32, longest time.Duration) string {
	return fmt.Sprintf("%d/%d", group, longest.Nanoseconds())
}

// String is the choice in the form of Polling.
func (c Choice) String() string { return state(c.Group, c.Longest) }

// SetPolling starts or stops polling of an instance, as the text says.
func SetPolling(device string, index int, text string) error {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return fmt.Errorf("interface %q: %w", device, err)
	}
	if text == Off {
		if err := Leave(link.Index, index); !errors.Is(err, unix.ENOENT) {
			return err
		}
		return nil
	}
	first, second, found := strings.Cut(text, "/")
	group, err := strconv.ParseUint(first, 10, 32)
	longest, wrong := strconv.ParseInt(second, 10, 64)
	if !found || err != nil || wrong != nil || group == 0 || longest < 0 {
		return fmt.Errorf("%q is not a polling setting, such as %s or 7/50000", text, Off)
	}
	return Poll(Choice{IfIndex: link.Index, Index: index, Group: uint32(group), Longest: time.Duration(longest)})
}

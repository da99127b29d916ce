package link

import (
	"errors"
	"maps"
	"sort"

	"golang.org/x/sys/unix"
)

// Setting is what nines set on one device because it affects measurements.
type Setting struct {
	// Node is empty for devices of the fabric.
	Node   string `json:"node,omitempty"`
	Link   string `json:"link"`
	Device string `json:"device"`
	// Values by name: "tso": "off", "txqueuelen": "1000".
	Values map[string]string `json:"values"`
}

type deviceKey struct{ node, link, device string }

// record notes what was set on a device.
func (s *Site) record(node, link, device string, values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == nil {
		s.settings = map[deviceKey]map[string]string{}
	}
	key := deviceKey{node, link, device}
	if s.settings[key] == nil {
		s.settings[key] = map[string]string{}
	}
	maps.Copy(s.settings[key], values)
}

// Record notes what was set on devices inside a virtual machine.
func (s *Site) Record(settings []Setting) {
	for _, one := range settings {
		s.record(one.Node, one.Link, one.Device, one.Values)
	}
}

// Settings lists what was set, sorted by node, link and device.
func (s *Site) Settings() []Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Setting, 0, len(s.settings))
	for key, values := range s.settings {
		list = append(list, Setting{Node: key.node, Link: key.link, Device: key.device, Values: values})
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Node != b.Node {
			return a.Node < b.Node
		}
		if a.Link != b.Link {
			return a.Link < b.Link
		}
		return a.Device < b.Device
	})
	return list
}

func isUnsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT)
}

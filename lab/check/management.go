package check

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
)

// hostEndFault is what is wrong with the host's interface on the management network; nil if nothing is.
func hostEndFault(l *running.Lab) (*Fault, error) {
	m := l.Plan().Management
	if m == nil {
		return nil, nil
	}
	device, err := link.HostEnd(m)
	if err != nil {
		return nil, err
	}
	problem := ""
	switch {
	case device == nil:
		problem = "is gone"
	case device.State == stateDown:
		problem = "is down"
	case m.Shared():
		return uplinkFault(l)
	case !slices.ContainsFunc(device.Addresses, func(has string) bool { return samePrefix(has, m.HostAddress()) }):
		problem = "has lost its address " + m.HostAddress()
	default:
		return nil, nil
	}
	return &Fault{
		Of: "link " + m.Link, Part: "link " + m.Link, Problem: fmt.Sprintf("this host's interface on the management network, %s, %s", m.Device, problem),
		Remedy: RemakeLink, Target: m.Link,
	}, nil
}

// uplinkFault is what is wrong with the host's interface that the nodes share; nil if nothing is.
func uplinkFault(l *running.Lab) (*Fault, error) {
	m := l.Plan().Management
	header, err := journal.ReadHeader(l.State().Journal())
	if err != nil {
		return nil, err
	}
	problems, err := link.UplinkDifferences(l.Plan(), link.UplinkToken(header))
	if len(problems) == 0 || err != nil {
		return nil, err
	}
	f := linkFault(m.Link, fmt.Sprintf("this host's interface %s, which the management network is on: %s", m.Uplink.Name, strings.Join(problems, ", ")))
	return &f, nil
}

package request

import (
	"fmt"
	"strconv"
	"strings"
)

// The thesis's tiers in microseconds (its listing in appendix A: LATENCY_WITH_MULTUS,
// LATENCY_WITH_OVS and LATENCY_DEFAULT). They were measured on one rig. Here they only stand in
// for nodes of which nothing is measured.
const (
	ThesisPortUs    = 800
	ThesisOVSUs     = 5_000
	ThesisDefaultUs = 10_000
)

// ThesisPercentile is what the number of the thesis's annotation bounds here, as the thesis does
// not say.
const ThesisPercentile = "99"

// mostThesisUs is the minute that limits end at.
const mostThesisUs = 60_000_000

// ParseThesis reads the number of microseconds. Boundaries are included: 800 is met by 800.
func ParseThesis(text string) (*Request, error) {
	us, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || us < 1 || us > mostThesisUs {
		return nil, fmt.Errorf("%q is not a whole number of microseconds from 1 to %d, such as \"800\"", text, mostThesisUs)
	}
	limit := Limit{P: ThesisPercentile, Ns: us * 1000, Inclusive: true}
	return &Request{Text: text, Alternatives: []Alternative{{limit}}, ThesisUs: us}, nil
}

// mostPorts is more than any machine has.
const mostPorts = 1024

func parsePorts(annotations map[string]string) (int, error) {
	text, found := annotations[PortsAnnotation]
	if !found {
		return 1, nil
	}
	ports, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || ports < 1 || ports > mostPorts {
		return 0, fmt.Errorf("%q is not a whole number from 1 to %d", text, mostPorts)
	}
	return ports, nil
}

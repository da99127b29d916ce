package napi

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The controller of generic netlink, from include/uapi/linux/genetlink.h and netlink.h: it
// reports the attributes of each command, since Linux 5.10.
const (
	controllerGetPolicy       = 10
	controllerAttributeFamily = 2
	controllerAttributeOp     = 10
	controllerAttributePolicy = 8
	policyMaximumUnsigned     = 5
)

// Policy has the attributes that napi-set accepts, each with its largest value, 0 if the
// kernel gives none.
type Policy map[uint16]uint64

// SetPolicy asks the kernel what napi-set accepts; it is empty if there is no such command.
func SetPolicy() (Policy, error) {
	if _, err := familyID(); err != nil {
		return nil, err
	}
	answers, err := callFamily(unix.GENL_ID_CTRL, 2, controllerGetPolicy, unix.NLM_F_DUMP,
		nl.NewRtAttr(controllerAttributeFamily, nl.ZeroTerminated(familyName)),
		nl.NewRtAttr(controllerAttributeOp, nl.Uint32Attr(commandNAPISet)))
	if err != nil {
		// ENOENT: no such command; EOPNOTSUPP: the controller reports no policies.
		return Policy{}, nil //nolint:nilerr // what cannot be asked for is not there
	}
	return parsePolicy(answers)
}

// parsePolicy parses answers of {policy: {number: {attribute: {type, limits}}}}.
func parsePolicy(answers [][]byte) (Policy, error) {
	policy := Policy{}
	for _, answer := range answers {
		top, err := nl.ParseRouteAttr(answer)
		if err != nil {
			return nil, fmt.Errorf("netlink policy: %w", err)
		}
		for _, t := range top {
			if t.Attr.Type&attributeType != controllerAttributePolicy {
				continue
			}
			tables, err := nl.ParseRouteAttr(t.Value)
			if err != nil {
				return nil, fmt.Errorf("netlink policy: %w", err)
			}
			for _, table := range tables {
				if err := policy.add(table.Value); err != nil {
					return nil, err
				}
			}
		}
	}
	return policy, nil
}

func (p Policy) add(table []byte) error {
	attributes, err := nl.ParseRouteAttr(table)
	if err != nil {
		return fmt.Errorf("netlink policy: %w", err)
	}
	for _, a := range attributes {
		limits, err := numbers(a.Value)
		if err != nil {
			return err
		}
		p[a.Attr.Type&attributeType] = limits[policyMaximumUnsigned]
	}
	return nil
}

// BusyThreads reports whether instances can have threads that never sleep.
func (p Policy) BusyThreads() bool { return p[attributeThreaded] >= uint64(BusyThread) }

// Suspends reports whether interrupts can be suspended.
func (p Policy) Suspends() bool { _, has := p[attributeIRQSuspend]; return has }

package busypoll

import (
	"fmt"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// mechanism is one way of polling, and what it needs of the kernel.
type mechanism struct {
	name  spec.PollMechanism
	title string
	lack  func(Features) Lack
}

// mechanisms are in the order of preference: the kernel's own thread is the simplest and
// has no gap between polls; the module is the paper's method; io_uring's kernel thread
// holds the device only during a poll; epoll needs a packet first, and a second thread.
var mechanisms = []mechanism{
	{spec.PollNetlink, "threaded NAPI that the kernel keeps busy", func(f Features) Lack { return f.Netlink }},
	{spec.PollLivepatch, "the module busypoll/kmod/kbp", func(f Features) Lack { return f.Livepatch }},
	{spec.PollIOUring, "io_uring's kernel thread with static NAPI ids", func(f Features) Lack { return first(f.NAPIGet, f.IOUring) }},
	{spec.PollEpoll, "threaded NAPI that an epoll busy poller keeps awake", func(f Features) Lack { return first(f.NAPIGet, f.Threaded, f.Epoll) }},
}

func first(lacks ...Lack) Lack {
	for _, l := range lacks {
		if !l.None() {
			return l
		}
	}
	return ""
}

// Choose returns the wanted mechanism, or for auto the best one that the kernel has, and
// the reason. If the kernel has none, or not the wanted one, the error is a
// exit.MissingError. It is pure.
func Choose(f Features, wanted spec.PollMechanism) (spec.PollMechanism, string, error) {
	var missing []string
	var open Lack // of a mechanism that the kernel may have
	for _, m := range mechanisms {
		lack := m.lack(f)
		switch {
		case wanted != "" && wanted != spec.PollAuto && wanted != m.name:
		case lack.None() && wanted == m.name:
			return m.name, m.title + ", as requested", nil
		case lack.None():
			return m.name, strings.Join(append([]string{m.title}, missing...), "; no "), nil
		default:
			missing = append(missing, fmt.Sprintf("%s: %s", m.name, lack))
			if lack.Untold() {
				open = lack
			}
		}
	}
	if len(missing) == 0 {
		return "", "", fmt.Errorf("unknown mechanism %q; allowed: auto, netlink, livepatch, io_uring, epoll", wanted)
	}
	if open.Untold() {
		return "", "", open.Missing("busy polling", "")
	}
	remedy := "use a kernel of 6.13 or later, or rx: threaded or awake"
	if wanted != "" && wanted != spec.PollAuto {
		remedy = "leave the mechanism to nines (auto), or use another kernel"
	}
	return "", "", &exit.MissingError{Capability: "busy polling", Reason: strings.Join(missing, "; "), Remedy: remedy}
}

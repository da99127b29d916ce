package busypoll

import (
	"fmt"
	"strings"

	"nines.dev/nines/exit"
)

// Features are the running kernel's features for polling. Each is empty if the kernel has
// it, otherwise it is the reason why not.
type Features struct {
	// NAPIGet is the listing of NAPI instances by netlink (Linux 6.8).
	NAPIGet Lack `json:"napi_get"`
	// Netlink is threaded NAPI that the kernel keeps busy itself (Linux 6.19).
	Netlink Lack `json:"netlink"`
	// Livepatch is the module of busypoll/kmod/kbp, built for this kernel.
	Livepatch Lack `json:"livepatch"`
	// IOUring is io_uring with static NAPI ids (Linux 6.13).
	IOUring Lack `json:"io_uring"`
	// Epoll is busy polling by epoll with parameters for each epoll set (Linux 6.9).
	Epoll Lack `json:"epoll"`
	// Threaded is threaded NAPI (Linux 5.12).
	Threaded Lack `json:"threaded"`
	// Suspend is the suspension of interrupts while an application polls (Linux 6.13).
	Suspend Lack `json:"suspend"`
}

// Lack is the reason why the kernel lacks a feature; empty if it has it.
type Lack string

// None is true if the kernel has the feature.
func (l Lack) None() bool { return l == "" }

// untold begins the Lack of a feature that could not be tried.
const untold = "cannot find out: "

// Untold is true if files, memory or processes had run out when the feature was tried: the kernel may have it.
func (l Lack) Untold() bool { return strings.HasPrefix(string(l), untold) }

// Missing is the error of a capability that the kernel does not have by this lack: an exit.MissingError, unless that is
// untold.
func (l Lack) Missing(capability, remedy string) error {
	if l.Untold() {
		return fmt.Errorf("%s: %s; try again where this process may have more of it (ulimit, the control group's limits)", capability, l)
	}
	return &exit.MissingError{Capability: capability, Reason: string(l), Remedy: remedy}
}

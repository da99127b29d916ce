package host

import (
	"fmt"

	"nines.dev/nines/exit"
)

// MissingError says that the host lacks something, why we think so, and how to
// get it.
type MissingError struct {
	// Capability is what is missing, named as in Inventory.Features where it is
	// one of those: "lxc", "xdp_native_veth", "root".
	Capability string
	// Reason is what was seen.
	Reason string
	// Remedy is what to do about it, or what works without.
	Remedy string
	// Err is the kernel's error where there was one.
	Err error
}

// Error gives capability, reason and remedy in one line.
func (e *MissingError) Error() string {
	s := fmt.Sprintf("this host lacks %s", e.Capability)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Unwrap gives the kernel's error.
func (e *MissingError) Unwrap() error { return e.Err }

// ExitCode is the exit code of nines for this error.
func (e *MissingError) ExitCode() int { return exit.Lacks }

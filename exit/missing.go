package exit

import "fmt"

// MissingError says what the host lacks, how we know, and how to get it.
type MissingError struct {
	// Capability is what is missing, named as in host.Inventory.Features if it is one of
	// those: "lxc", "xdp_native_veth", "root".
	Capability string
	// Reason is what was seen.
	Reason string
	// Remedy is how to get it, or what works without it.
	Remedy string
	// Err is the kernel's error, if any.
	Err error
}

// Error formats capability, reason and remedy in one line. Where the kernel's error is that something has run out, nobody
// knows what the host lacks.
func (e *MissingError) Error() string {
	if remedy := Remedy(e.Err); remedy != "" {
		return fmt.Sprintf("cannot find out whether this host has %s: %v; %s", e.Capability, e.Err, remedy)
	}
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

// Unwrap returns the kernel's error.
func (e *MissingError) Unwrap() error { return e.Err }

// ExitCode is the exit code of nines for this error.
func (e *MissingError) ExitCode() int {
	if IsExhausted(e.Err) {
		return Failed
	}
	return Lacks
}

package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/kernel/netns"
)

// StateError is a file of the labs' state that could not be written.
type StateError struct {
	Path string
	Err  error
}

func (e *StateError) Error() string {
	remedy := ""
	switch {
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT):
		remedy = "; free some space there, or keep the labs elsewhere (NINES_STATE_DIR=…)"
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		remedy = "; keep the labs elsewhere (NINES_STATE_DIR=…)"
	}
	return fmt.Sprintf("cannot write %s: %v%s", e.Path, e.Err, remedy)
}

func (e *StateError) Unwrap() error { return e.Err }

// aboutState words an error of the system with a file below the labs' folder as what it
// is, whoever wrote the file: the journal, a ledger, the plan. An error that has another
// cause, too, stays as it is, and so do words about what to do: those are put around.
func aboutState(err error) error {
	if full := fullState(err); full != nil {
		return full
	}
	return err
}

// fullState is the first of an error's causes, if each is a file below the labs' folder
// that the disk has no room for.
func fullState(err error) *StateError {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var first *StateError
		for _, cause := range several.Unwrap() {
			full := fullState(cause)
			if full == nil {
				return nil
			}
			first = cmp.Or(first, full)
		}
		return first
	}
	var file *fs.PathError
	if !errors.As(err, &file) || !errors.Is(file, syscall.ENOSPC) && !errors.Is(file, syscall.EDQUOT) {
		return nil
	}
	if below, other := filepath.Rel(Root(), file.Path); other != nil || !filepath.IsLocal(below) {
		return nil
	}
	return &StateError{strings.TrimSuffix(file.Path, ".new"), file.Err}
}

// SysctlError is a sysctl that the kernel does not have for nodes.
type SysctlError struct{ Node, Name string }

func (e *SysctlError) Error() string {
	return fmt.Sprintf("node %q: this kernel has no sysctl %s (%s is not there); correct its name in the node's sysctls, or load the kernel module that has it",
		e.Node, e.Name, netns.SysctlPath(e.Name))
}

// ExitCode is 2: the file is wrong for this host.
func (e *SysctlError) ExitCode() int { return 2 }

// NotFoundError is a lab that is not there.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no lab %q; nines ls lists those that are up", e.Name)
}

// ExitCode is 2: the call names what is not there.
func (e *NotFoundError) ExitCode() int { return 2 }

// BusyError is a lab that another process is changing.
type BusyError struct {
	// Name is the lab's; empty for the list of labs, held by one that starts.
	Name string
	// PID is the other process; 0 if it is not known.
	PID int
	// Measuring is the experiment that the process measures, and Since when; empty if
	// it changes the lab.
	Measuring string
	Since     time.Time
}

func (e *BusyError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("process %d has been starting another lab for a while; wait for it, or end it", e.PID)
	}
	if e.Measuring != "" {
		return fmt.Sprintf("lab %q is being measured by process %d since %s, for experiment %q; wait for it, or end it; a lab beside it needs another name (--set name=…)",
			e.Name, e.PID, e.Since.Format(time.DateTime), e.Measuring)
	}
	if e.PID == 0 {
		return fmt.Sprintf("lab %q is being changed by another process; wait for it, or end it", e.Name)
	}
	return fmt.Sprintf("lab %q is being changed by process %d; wait for it, or end it", e.Name, e.PID)
}

// MeasuringError is a host on which another process measures.
type MeasuringError struct {
	Experiment string
	PID        int
	Since      time.Time
}

func (e *MeasuringError) Error() string {
	return fmt.Sprintf("process %d is measuring experiment %q since %s, and two measurements at once would disturb each other; wait for it, or end it",
		e.PID, e.Experiment, e.Since.Format(time.DateTime))
}

// MountError is a mount whose source the host does not have, or whose target is not
// there to mount on.
type MountError struct {
	Node, Source string
	// Target is set where it is at fault.
	Target string
}

func (e *MountError) Error() string {
	if e.Target != "" {
		kind := "directory"
		if info, err := os.Stat(e.Source); err == nil && !info.IsDir() {
			kind = "file"
		}
		return fmt.Sprintf("node %q: the target of a mount, %s, is no %s of this host, whose files a node of the runtime netns sees; make it, or correct the node's mounts", e.Node, e.Target, kind)
	}
	return fmt.Sprintf("node %q: the source of a mount, %s, is not on this host; make it, or correct the node's mounts", e.Node, e.Source)
}

// ExitCode is 2: the file is wrong for this host.
func (e *MountError) ExitCode() int { return 2 }

// ExistsError is a lab that is up already.
type ExistsError struct {
	Name string
	// Other is the lab that has the same prefix; empty if the name itself is taken.
	Other  string
	Prefix string
}

func (e *ExistsError) Error() string {
	if e.Other != "" {
		return fmt.Sprintf("lab %q would begin its names with %q, and so does lab %q, which is up; set another prefix in the file, or nines down %s",
			e.Name, e.Prefix, e.Other, e.Other)
	}
	return fmt.Sprintf("lab %q is up already; nines apply changes it, nines down %s removes it", e.Name, e.Name)
}

// ExitCode is 2: the call cannot be right while that lab is up.
func (e *ExistsError) ExitCode() int { return 2 }

// TakenError is a name of the lab's that the host has already, of a lab in another
// state directory or of another program.
type TakenError struct{ Path, Prefix string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is there already, and not of a lab of this state directory; set another prefix than %q in the file (--set prefix=…), or take the lab down that has it (NINES_STATE_DIR=… nines down)",
		e.Path, e.Prefix)
}

// ExitCode is 2: the call cannot be right while that is there.
func (e *TakenError) ExitCode() int { return 2 }

// NoNodeError is a node that the lab does not have.
type NoNodeError struct {
	Lab, Node string
	Nodes     []string
}

func (e *NoNodeError) Error() string {
	return fmt.Sprintf("lab %q has no node %q; it has %s", e.Lab, e.Node, strings.Join(e.Nodes, ", "))
}

// ExitCode is 2: the call is wrong.
func (e *NoNodeError) ExitCode() int { return 2 }

// NoSwitchError is a link that is not there or has no switch of ours.
type NoSwitchError struct {
	Lab, Link string
	// Links are those that have one.
	Links []string
}

func (e *NoSwitchError) Error() string {
	if len(e.Links) == 0 {
		return fmt.Sprintf("lab %q has no link of the kind switch", e.Lab)
	}
	return fmt.Sprintf("lab %q has no link %q of the kind switch; it has %s", e.Lab, e.Link, strings.Join(e.Links, ", "))
}

// ExitCode is 2: the call is wrong.
func (e *NoSwitchError) ExitCode() int { return 2 }

// BypassError is an interface that the kernel does not see.
type BypassError struct {
	Node, Interface string
	// Switch is the link that the interface is on, if that has a switch of ours.
	Switch string
}

func (e *BypassError) Error() string {
	s := fmt.Sprintf("%s:%s is opened by DPDK, and the kernel does not see its packets", e.Node, e.Interface)
	if e.Switch == "" {
		return s + "; capture at the other end of a kernel link, or let kind: switch join it, which can mirror a port"
	}
	return s + fmt.Sprintf("; nines switch mirror %s %s:%s -w FILE has the switch write them", e.Switch, e.Node, e.Interface)
}

// ExitCode is 2: the call is wrong.
func (e *BypassError) ExitCode() int { return 2 }

// GuestError is an interface in a virtual machine, whose packets no socket of the host
// sees.
type GuestError struct{ Node, Interface string }

func (e *GuestError) Error() string {
	return fmt.Sprintf("%s:%s is in a virtual machine; capture at the other end of its link, which has the same packets", e.Node, e.Interface)
}

// ExitCode is 2: the call is wrong.
func (e *GuestError) ExitCode() int { return 2 }

// NoInterfaceError is an interface that a node does not have.
type NoInterfaceError struct {
	Lab, Node, Interface string
	Interfaces           []string
}

func (e *NoInterfaceError) Error() string {
	return fmt.Sprintf("node %q of lab %q has no interface %q; it has %s", e.Node, e.Lab, e.Interface, strings.Join(e.Interfaces, ", "))
}

// ExitCode is 2: the call is wrong.
func (e *NoInterfaceError) ExitCode() int { return 2 }

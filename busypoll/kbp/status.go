package kbp

import (
	"fmt"
	"io"
	"os"

	"nines.dev/nines/host"
)

// Status is what there is of the module on this host.
type Status struct {
	Kernel string `json:"kernel"`
	State  State  `json:"state"`
	// Built is the path of the module that was built for the kernel; empty if none was.
	Built string `json:"built,omitempty"`
	// Lack is why the kernel cannot poll by it, Remedy what to do.
	Lack   string `json:"lack,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Threads are the ids of those that poll, of all network namespaces.
	Threads []int `json:"threads"`
}

// ReadStatus looks.
func ReadStatus() (Status, error) {
	s := Status{Kernel: KernelRelease()}
	var err error
	if s.State, err = Now(); err != nil {
		return s, err
	}
	if path, err := Find(s.Kernel); err == nil {
		s.Built = path
	}
	s.Lack, s.Remedy = Lack()
	s.Threads, err = Threads()
	return s, err
}

// Write writes it for people.
func (s Status) Write(w io.Writer) error {
	built := s.Built
	if built == "" {
		built = "no"
	}
	text := fmt.Sprintf("kernel   %s\nbuilt    %s\nmodule   %s\nthreads  %d\n", s.Kernel, built, s.State, len(s.Threads))
	if s.Lack != "" {
		text += "lack     " + s.Lack
		if s.Remedy != "" {
			text += ": " + s.Remedy
		}
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// Loadable is the path of the module that was built for the running kernel; the error is
// a host.MissingError where there is none, or the kernel takes none.
func Loadable() (string, error) {
	if _, err := os.Stat(livepatches); err != nil || !supported(KernelRelease()) {
		reason, remedy := Lack()
		return "", &host.MissingError{Capability: "busy polling by a live patch", Reason: reason, Remedy: remedy}
	}
	path, err := Find(KernelRelease())
	if err != nil {
		return "", &host.MissingError{Capability: "the module " + Name, Reason: "it is not built for " + KernelRelease(),
			Remedy: "nines kbp module build, which needs linux-headers-" + KernelRelease()}
	}
	return path, nil
}

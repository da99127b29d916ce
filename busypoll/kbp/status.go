package kbp

import (
	"fmt"
	"io"
	"os"

	"nines.dev/nines/exit"
)

// Status is the module's state on this host.
type Status struct {
	Kernel string `json:"kernel"`
	State  State  `json:"state"`
	// Built is the path of the module built for the kernel; empty if there is none.
	Built string `json:"built,omitempty"`
	// Lack is why the kernel cannot poll with it, Remedy what to do.
	Lack   string `json:"lack,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Threads are the IDs of the polling threads in all network namespaces.
	Threads []int `json:"threads"`
}

// ReadStatus reads the module's state.
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

// Write writes it as text.
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

// Loadable is the path of the module built for the running kernel. The error is a
// exit.MissingError if there is none, or if the kernel supports none.
func Loadable() (string, error) {
	if _, err := os.Stat(livepatches); exit.IsExhausted(err) {
		return "", fmt.Errorf("look for live patches: %w", err)
	} else if err != nil || !supported(KernelRelease()) {
		reason, remedy := Lack()
		return "", &exit.MissingError{Capability: "busy polling by a live patch", Reason: reason, Remedy: remedy}
	}
	path, err := Find(KernelRelease())
	if exit.IsExhausted(err) {
		return "", fmt.Errorf("find the module %s: %w", Name, err)
	}
	if err != nil {
		return "", &exit.MissingError{Capability: "the module " + Name, Reason: "it is not built for " + KernelRelease(),
			Remedy: "nines kbp module build, which needs linux-headers-" + KernelRelease()}
	}
	return path, nil
}

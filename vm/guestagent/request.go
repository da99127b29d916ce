package guestagent

import "fmt"

// Request is a command for the guest.
type Request struct {
	// Argv is the program, looked up in the guest's PATH, and its arguments.
	Argv []string `json:"argv"`
	// Env is added to the agent's own environment: NAME=VALUE.
	Env []string `json:"env,omitempty"`
	// Dir is the working folder; empty means /.
	Dir string `json:"dir,omitempty"`
	// Terminal gives the command a terminal, which sends all output to Stdout.
	Terminal *Terminal `json:"terminal,omitempty"`
	// Group ends what the command has left in its process group when it has ended.
	Group bool `json:"group,omitempty"`
	// Stay keeps the command when the session ends; its output is discarded. The
	// outcome comes when it has started.
	Stay bool `json:"stay,omitempty"`
	// Log is the file in the guest for the output of a command that stays.
	Log string `json:"log,omitempty"`
}

// Terminal is a terminal's size and type.
type Terminal struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
	// Term is the value of TERM.
	Term string `json:"term,omitempty"`
}

// outcome is how a command ended.
type outcome struct {
	// Code is the exit code; 128 plus the signal's number if a signal ended the
	// command.
	Code int `json:"code"`
	// Failed says why the command could not be started.
	Failed string `json:"failed,omitempty"`
	// NotFound is true if the command, or its folder, does not exist.
	NotFound bool `json:"not_found,omitempty"`
	// PID is the process in the guest of a command that stays.
	PID int `json:"pid,omitempty"`
}

// message is a host's message about a command: first Start, then any of the others.
// PowerOff stands alone.
type message struct {
	Start    *Request  `json:"start,omitempty"`
	Signal   int       `json:"signal,omitempty"`
	Resize   *Terminal `json:"resize,omitempty"`
	PowerOff bool      `json:"power_off,omitempty"`
}

// maxMessage limits the size of one message.
const maxMessage = 1 << 20

// StartError says that the guest could not start a command.
type StartError struct {
	Command, Reason string
	// NotFound is true if the command, or its folder, does not exist.
	NotFound bool
}

func (e *StartError) Error() string {
	return fmt.Sprintf("start %s in the guest: %s", e.Command, e.Reason)
}

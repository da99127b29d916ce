package power

import (
	"errors"
	"slices"
)

// Action is something that is done to a node.
type Action string

// The actions. Off, Reset and Cycle end what runs in the node at once, as a power cut would; Soft and
// Restart let it shut down first, for a limited time. Reset and Cycle are the same for a node that is
// off: they start it. Diag interrupts it, to make it say what it is doing.
const (
	On      Action = "on"
	Off     Action = "off"
	Soft    Action = "soft"
	Reset   Action = "reset"
	Cycle   Action = "cycle"
	Restart Action = "restart"
	Diag    Action = "diag"
)

// Actions are all of them.
func Actions() []Action { return []Action{On, Off, Soft, Reset, Cycle, Restart, Diag} }

// Known is true for an action that there is.
func (a Action) Known() bool { return slices.Contains(Actions(), a) }

// Starts is true for an action after which the node has restarted.
func (a Action) Starts() bool { return a == On || a == Reset || a == Cycle || a == Restart }

// State is how a node is.
type State struct {
	Node string `json:"node"`
	On   bool   `json:"on"`
	// Changing is true while it is started or ended.
	Changing bool `json:"changing,omitempty"`
}

// ErrRefused is an action that the node cannot do at all.
var ErrRefused = errors.New("the node cannot do that")

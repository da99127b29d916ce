package login

import (
	"sync"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Maker makes what people log in with: keys, and servers in nodes.
type Maker struct {
	*running.Lab
	// Place is where the nodes are made.
	Place node.Place
	// Again is true where nodes are started again, as the lab is.
	Again bool
	// Before is the lab's previous plan; nil for a new lab.
	Before *plan.Plan
	// folder guards the step of SSHDFolder, as nodes start side by side.
	folder sync.Mutex
}

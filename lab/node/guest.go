package node

import (
	"context"
	"os"
	"time"

	"nines.dev/nines/plan"
)

// Guest is a runtime of virtual machines. They boot when their links are made, and what
// other nodes get from outside is then made inside: addresses, routes, an engine.
type Guest interface {
	Runtime
	// BootSteps says what Boot makes, a line each, for the dry run. It is pure.
	BootSteps(n plan.Node) []string
	// Boot starts machines whose first processes run, and sets their guests up.
	Boot(ctx context.Context, p Place, machines []Machine) error
	// StartEngine starts the engine in a guest with an environment, and lets serve tell
	// it what to do.
	StartEngine(ctx context.Context, p Place, r *Running, env []string, serve func() error) error
	// Devices asks a guest for its interfaces, in JSON.
	Devices(ctx context.Context, p Place, r *Running) ([]byte, error)
	// Untimed says why the timings of a guest mean nothing; nothing where they do.
	Untimed(p Place, n plan.Node) string
	// Sockets are paths of sockets that the kernel must not cut.
	Sockets(p Place, n plan.Node) []string
}

// Machine is a virtual machine that is to boot.
type Machine struct {
	Node    plan.Node
	Running *Running
	// Sysctls are written in the guest in this order.
	Sysctls []map[string]string
	// Connect opens what the node's interfaces are connected to, in their order. The
	// caller closes the taps, which QEMU has from descriptor 3 on.
	Connect func() (ports []Port, taps []*os.File, err error)
	// Record takes what was set on the guest's interfaces, in JSON.
	Record func(settings []byte) error
}

// GuestPatience bounds what is asked of a guest that runs. A translated engine alone
// needs some 5 s of a CPU to start.
const GuestPatience = 3 * time.Minute

// GuestOf is the runtime of a node that is a virtual machine; nil for others.
func GuestOf(n plan.Node) Guest {
	g, _ := RuntimeOf(n).(Guest)
	return g
}

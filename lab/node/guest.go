package node

import (
	"context"
	"os"
	"time"

	"nines.dev/nines/plan"
)

// Guest is a runtime of virtual machines. They boot when their links are made. Addresses, routes
// and the engine are then set up from inside, not from outside as in other nodes.
type Guest interface {
	Runtime
	// BootSteps says what Boot makes, one line each, for the dry run. It is pure.
	BootSteps(n plan.Node) []string
	// Boot starts machines whose first processes are running, and sets up their guests.
	Boot(ctx context.Context, p Place, machines []Machine) error
	// StartEngine starts the engine in a guest with an environment; serve then gives it its tasks.
	StartEngine(ctx context.Context, p Place, r *Running, env []string, serve func() error) error
	// Ask runs a verb of nines-node in a guest with an input, and returns its output, in JSON.
	Ask(ctx context.Context, p Place, r *Running, verb string, input []byte) ([]byte, error)
	// ScriptRelay is the command that lets a guest's scripts reach nines, over its input and output; folder is
	// that of the node's scripts in the guest.
	ScriptRelay(folder string) []string
	// StartSSH lets people log in to a guest at an address with its port, by files that the caller has read: the
	// guest's key and those of who may. One that has a server gets the files only.
	StartSSH(ctx context.Context, p Place, r *Running, files map[string][]byte, address string) error
	// Untimed says why the timings of a guest are meaningless; empty where they are valid.
	Untimed(p Place, n plan.Node) string
	// Sockets are paths of sockets, to check that they are not too long for the kernel.
	Sockets(p Place, n plan.Node) []string
}

// Machine is a virtual machine to boot.
type Machine struct {
	Node    plan.Node
	Running *Running
	// Sysctls are written in the guest in this order.
	Sysctls []map[string]string
	// Connect opens what the node's interfaces are connected to, in order. The caller closes the
	// taps, which QEMU has from descriptor 3 on.
	Connect func() (ports []Port, taps []*os.File, err error)
	// Record receives what was set on the guest's interfaces, in JSON.
	Record func(settings []byte) error
}

// GuestPatience bounds requests to a running guest. An engine under TCG needs about 5 s of CPU time
// just to start.
const GuestPatience = 3 * time.Minute

// GuestOf is the runtime of a node that is a virtual machine; nil for others.
func GuestOf(n plan.Node) Guest {
	g, _ := RuntimeOf(n).(Guest)
	return g
}

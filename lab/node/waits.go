package node

import (
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Waits is true for a node whose first process is the user's: that of an image, or systemd with its services. It starts
// when the node's network stands, since a program that looks for its addresses once would not find them later. nines' own
// first process looks for none.
func Waits(n plan.Node) bool {
	return UsesSystemd(n) || n.OCI != nil && n.OCI.Init != spec.InitOfNines
}

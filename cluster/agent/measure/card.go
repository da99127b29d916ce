package measure

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/pci"
)

// trialFunctions is how many virtual functions a trial takes: one for each of its two ends.
const trialFunctions = 2

// spareCard is a card of which a trial can take two virtual functions and nobody misses them; or why there
// is none. A trial makes no functions: that would change the card under whoever uses it, and the functions
// would be there for others to take, and gone again when the trial ends.
func spareCard(inv *host.Inventory, given []string) (card, why string) {
	var refused []string
	for i := range inv.Functions {
		f := &inv.Functions[i]
		if f.TotalVFs == 0 {
			continue
		}
		reason := notSpare(f, given)
		if reason == "" {
			return f.Name(), ""
		}
		refused = append(refused, f.Name()+" "+reason)
	}
	if len(refused) == 0 {
		return "", "this node has no card with SR-IOV"
	}
	return "", "no card has two virtual functions to spare: " + strings.Join(refused, "; ")
}

// notSpare is why a card is left alone; empty if it can be measured.
func notSpare(f *pci.Function, given []string) string {
	free := 0
	for _, vf := range f.VFs {
		if vf.UsedBy == "" {
			free++
		}
	}
	switch {
	case f.Interface == "":
		return "has no interface here"
	case f.Uplink:
		return "carries the node's own traffic"
	case len(f.VLANs) > 0:
		return "carries VLANs of the node"
	case f.Carrier != "yes":
		return "has no carrier"
	case slices.Contains(given, f.Interface):
		return "is in the file of ports: its functions are for pods"
	case free < trialFunctions:
		return fmt.Sprintf("has %d of its %d functions free, and the agent makes none (sriov_numvfs)", free, f.NumVFs)
	}
	return ""
}

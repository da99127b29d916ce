package measure

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/pci"
)

// trialFunctions is how many virtual functions a trial uses: one for each of its two ends.
const trialFunctions = 2

// spareCard returns a card from which a trial can take two virtual functions that no program uses; or why
// there is none. A trial creates no functions: that would change the card for the programs that use it, and
// other programs could take the functions, which disappear when the trial ends.
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

// notSpare returns why a card is not measured; empty if it can be.
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
		return "is in the ports file, so its functions are for pods"
	case free < trialFunctions:
		return fmt.Sprintf("has %d of its %d functions free, and the agent creates none (sriov_numvfs)", free, f.NumVFs)
	}
	return ""
}

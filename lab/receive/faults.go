package receive

import (
	"fmt"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/running"
)

// Faults says which interfaces of living nodes have lost their receive mode: the poller has
// ended, or the device has other NAPI instances. Apply sets it up again, and a run rebuilds the lab.
func Faults(l *running.Lab) ([]check.Fault, error) {
	states, err := States(l)
	if err != nil {
		return nil, err
	}
	var faults []check.Fault
	for _, r := range states {
		if r.Problem != "" && l.Alive(r.Node) {
			of := r.Node + ":" + r.Interface
			problem := fmt.Sprintf("rx: %s of %s: receive mode changed since setup: %s", r.RX, of, r.Problem)
			faults = append(faults, check.Fault{Of: of, Part: "interface " + of, Problem: problem, Remedy: check.ReceiveAgain, Target: r.Node})
		}
	}
	return faults, nil
}

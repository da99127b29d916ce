package busypoll

import (
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
)

// Replaced says that NAPI instances of a device for which a way of receiving was set up
// are gone, as where the device was set down and up, or its GRO or queues anew: the new
// ones have other ids, and whoever has the old ones receives nothing by them. It is empty
// if all are there, and for what follows a device by itself, or knows of no instances.
func Replaced(ns *netns.Namespace, mechanism string, device Interface) (what string, err error) {
	if mechanism == string(spec.PollLivepatch) || len(device.NAPIs) == 0 {
		return "", nil
	}
	err = ns.Do(func() error {
		now, err := napi.List(device.Index)
		for _, old := range device.NAPIs {
			if err == nil && !slices.ContainsFunc(now, func(n napi.Instance) bool { return n.ID == old.ID }) {
				what = fmt.Sprintf("NAPI instance %d of %s is gone with its settings, because the device was set down or replaced", old.ID, device.Name)
				return nil
			}
		}
		return err
	})
	if errors.Is(err, napi.ErrNoFamily) || errors.Is(err, napi.ErrNoNAPIGet) {
		return "", nil
	}
	return what, err
}

// replaced is what Replaced says of the first device of which it says something, or that
// what polls has noticed by itself.
func (run *Running) replaced(ns *netns.Namespace) (string, error) {
	for _, i := range run.Interfaces {
		if what, err := Replaced(ns, run.Mechanism, i); what != "" || err != nil {
			return what, err
		}
	}
	if run.Poller == nil {
		return "", nil
	}
	statistics, err := ReadStatistics(run.Poller.Statistics)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(statistics.Threads, func(t ThreadStatistics) bool { return t.State == StaleThread }) {
		return "a NAPI instance was gone for a while because its device was set down, so polling was given up", nil
	}
	return "", nil
}

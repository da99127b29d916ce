package measure

import (
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/result"
)

// disturbances returns what was disturbed deliberately while the trial sent packets.
func (b *bench) disturbances(o observation) ([]result.Disturbance, error) {
	var list []result.Disturbance
	for _, planned := range b.lab.Plan().Disturbances {
		d := result.Disturbance{Name: planned.Name, Kind: string(planned.Kind), Of: planned.Where()}
		tx := o.outcome.Tx
		injections, err := disturb.TakeInjections(b.lab.Lab, planned.Name, tx.MeasuredStartNs, tx.EndNs)
		if err != nil {
			return nil, err
		}
		for _, i := range injections {
			d.Injections++
			d.LengthNs += i.EndNs - i.BeginNs
			d.LongestNs = max(d.LongestNs, i.EndNs-i.BeginNs)
			d.BusyNs += i.BusyNs
			d.Events += i.Events
		}
		list = append(list, d)
	}
	return list, nil
}

package measure

import (
	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// impairmentsSince returns what was done deliberately to the links' packets between an earlier reading
// and this one, beside a stream of frames of this size.
func (now programs) impairmentsSince(before programs, p *plan.Plan, frameBytes int) []result.Impairment {
	var list []result.Impairment
	for _, link := range p.Links {
		for _, planned := range link.Impairments {
			one := result.Impairment{Link: link.Name, From: planned.From, By: string(planned.By), What: planned.String(), Seed: int64(planned.Seed)}
			if planned.By == spec.ImpairByNetem {
				one.Seed = -1
			}
			if p.Meets(link, planned.From) {
				one.Holds = &result.Hold{LeastNs: int64(planned.ShortestDelay()), MostNs: int64(planned.LongestDelay() + planned.LongestQueue(frameBytes))}
			}
			key := link.Name + "/" + planned.From
			if is, known := now.impaired[key]; known {
				was := before.impaired[key]
				one.Done = &result.ImpairmentCounts{
					First: was.Packets, Packets: is.Packets - was.Packets, Lost: is.Lost - was.Lost, Corrupted: is.Corrupted - was.Corrupted,
					Reordered: is.Reordered - was.Reordered, Duplicated: is.Duplicated - was.Duplicated, Refused: is.Refused - was.Refused,
					Waiting: waiting(is),
				}
			}
			list = append(list, one)
		}
	}
	return list
}

// waiting is how many packets and copies a port holds. The switch goes on while its counters are
// read, in their order, so more may be lost, refused or given by then than had come.
func waiting(is client.ImpairStats) uint64 {
	came, gone := is.Packets+is.Duplicated, is.Lost+is.Refused+is.Given
	return came - min(came, gone)
}

// readImpairment notes what a switch's port has done deliberately.
func (now programs) readImpairment(link string, port client.SwitchPortStats) {
	if port.Impair != nil {
		now.impaired[link+"/"+port.Port] = *port.Impair
	}
}

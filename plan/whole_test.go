package plan

import "nines.dev/nines/spec"

// whole fills in the defaults of a stream, as package spec does for a file. Warm-up, drain and
// outliers may be 0, so they get no defaults.
func whole(t spec.Traffic) *spec.Traffic {
	defaultTo(&t.FrameBytes, 64)
	defaultTo(&t.Pattern, spec.PatternConstant)
	defaultTo(&t.Burst, 1)
	defaultTo(&t.Flows, 1)
	defaultTo(&t.FlowField, spec.FlowSourcePort)
	defaultTo(&t.Backend, spec.BackendUDP)
	if t.Backend == spec.BackendDPDK {
		defaultTo(&t.IO, spec.IOBatch)
		defaultTo(&t.Wait, spec.WaitSpin)
	}
	defaultTo(&t.IO, spec.IOSingle)
	defaultTo(&t.Wait, spec.WaitBlock)
	defaultTo(&t.Duration, spec.Duration(10e9))
	return &t
}

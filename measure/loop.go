package measure

import (
	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// RecordLoop is the record, with the verdict, of a trial that one engine made without a lab: what
// was sent by stream came back to the same engine. What a lab would have told of the host, such as
// time that a hypervisor took, is not in it; the engine's own gap meter is.
func RecordLoop(r client.TrialResult, stream spec.Traffic) (result.Record, error) {
	return record(observation{outcome: traffic.Outcome{Tx: r, Rx: r, Loop: true}, stream: stream, fromCPU: r.CPU}, nil, 1)
}

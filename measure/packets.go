package measure

import (
	"fmt"
	"net/netip"

	"nines.dev/nines/measure/recording"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// slowRecording is the number of packets from which processing takes more than a second and is
// announced.
const slowRecording = 2_000_000

// openRecording maps what was recorded of a trial, until releaseRecording; meanwhile the result's
// writer reads it. Call it before the engines stop. If the recording cannot be read, the trial
// counts as one without.
func (b *bench) openRecording(recorded *traffic.Recorded) {
	if recorded == nil || recorded.Unwritten {
		return
	}
	var err error
	if b.recording, err = recording.Open(recorded.Sent, recorded.Received); err != nil {
		recorded.Problems = append(recorded.Problems, err.Error())
	}
}

func (b *bench) releaseRecording() error {
	if b.recording == nil {
		return nil
	}
	opened := b.recording
	b.recording = nil
	return opened.Close()
}

// keepRecording adds the rows and metrics of every packet to a trial.
func (b *bench) keepRecording(rec *result.Record, recorded *traffic.Recorded, stream plan.Traffic) {
	if recorded == nil {
		return
	}
	if b.recording != nil && b.recording.Sent() > slowRecording {
		b.watch.Doing(fmt.Sprintf("writing %d packets", b.recording.Sent()))
	}
	keepRecording(rec, b.recording, recorded, func(flow int) string { return flowName(stream, flow) })
}

func keepRecording(rec *result.Record, opened *recording.Recording, recorded *traffic.Recorded, flow func(int) string) {
	kept := &result.Recording{SentLost: recorded.SentLost, ReceivedLost: recorded.ReceivedLost, Problems: recorded.Problems}
	rec.Details.Recording = kept
	if opened != nil {
		kept.Packets = opened.Sent()
		kept.Complete = len(kept.Problems) == 0
		if err := agree(rec.Trial, opened); err != nil && kept.Complete {
			kept.Complete = false
			kept.Problems = append(kept.Problems, err.Error())
		}
		rec.Packets = opened.Packets(kept.Complete)
	}
	switch {
	case !kept.Complete:
		kept.Problems = append(kept.Problems, "there are no metrics, because the record of packets is not complete")
	case kept.Packets > recording.MetricsMax:
		kept.Problems = append(kept.Problems, fmt.Sprintf("there are no metrics, because they support at most %d packets", recording.MetricsMax))
	default:
		rec.Metrics = opened.Metrics(flow)
	}
	rec.Details.Notes = append(rec.Details.Notes, kept.Problems...)
}

// agree compares a recording with the engines' own counts.
func agree(trial result.Trial, opened *recording.Recording) error {
	if opened.Sent() == trial.TxPackets && opened.Received() == trial.RxPackets &&
		opened.Duplicates() == trial.DuplicatePackets && opened.Unknown == 0 {
		return nil
	}
	return fmt.Errorf("the record has %d packets sent, %d received, %d duplicates and %d unknown ones, "+
		"but the engines counted %d, %d and %d", opened.Sent(), opened.Received(), opened.Duplicates(), opened.Unknown,
		trial.TxPackets, trial.RxPackets, trial.DuplicatePackets)
}

// flowName names a flow as on the wire: ports or addresses count up from the first.
func flowName(t plan.Traffic, flow int) string {
	if t.Stream.FlowField == spec.FlowSourceAddress {
		address, err := netip.ParseAddr(t.From.LocalIP)
		if err != nil {
			return fmt.Sprintf("flow %d", flow)
		}
		for range flow {
			address = address.Next()
		}
		return "source address " + address.String()
	}
	return fmt.Sprintf("source port %d", t.From.UDPPort+flow)
}

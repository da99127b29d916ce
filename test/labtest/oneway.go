package labtest

import (
	"testing"

	"nines.dev/nines/engine/client"
)

// OneWay sends packets from the port "tx" of one engine to the port "rx" of another, and returns how many
// left and how many arrived. They are so few that a ring of 256 (virtio's, memif's) holds them all, as a
// busy host lets the receiver wait for a CPU.
func OneWay(t testing.TB, sender, receiver *client.Client) (sent, received uint64) {
	t.Helper()
	stream := client.Stream{RatePPS: 150, Burst: 4, Seed: 3}
	trial := client.Trial{CPU: -1, WarmupNs: 100e6, DurationNs: 1e9, DrainNs: 5e9, Outliers: 10}
	type outcome struct {
		client.TrialResult
		error
	}
	started, arrived := make(chan int64, 1), make(chan outcome, 1)
	go func() {
		sink, in := trial, stream
		sink.Role, in.Rx = "sink", "rx"
		sink.Streams = []client.Stream{in}
		r, err := receiver.Trial(sink, client.Events{Started: func(s client.Started) { started <- s.StartNs }})
		arrived <- outcome{r, err}
	}()
	select {
	case at := <-started:
		trial.StartNs = at + 1e9
	case ended := <-arrived:
		t.Fatal(ended.error)
	}
	trial.Role, stream.Tx = "generate", "tx"
	trial.Streams = []client.Stream{stream}
	left, err := sender.Trial(trial, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.End(left.TxPackets); err != nil {
		t.Error(err)
	}
	got := <-arrived
	if got.error != nil {
		t.Error(got.error)
	}
	return left.TxPackets, got.RxPackets
}

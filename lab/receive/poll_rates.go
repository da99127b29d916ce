package receive

import (
	"context"
	"time"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/spec"
)

// PollRates counts for a time span how often each thread polls the lab's busy-polled interfaces, in
// polls a second by thread; nil where there are none. The kernel's own threads have no counters.
// Counting makes each poll a little more expensive, so it must not run during a trial.
func PollRates(ctx context.Context, l *running.Lab, span time.Duration) (map[int]float64, error) {
	records, err := Records(l)
	if err != nil {
		return nil, err
	}
	ours := map[uint32]bool{}
	for _, r := range records {
		for _, id := range r.NAPIs {
			if r.RX == spec.ReceiveBusyPoll && !r.Guest { // this kernel does not see a guest's polls
				ours[id] = true
			}
		}
	}
	if len(ours) == 0 {
		return nil, nil
	}
	polls, err := busypoll.CountPolls()
	if err != nil {
		return nil, err
	}
	defer polls.Close()
	begun := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(span):
	}
	counts, err := polls.Counts()
	if err != nil {
		return nil, err
	}
	rates := map[int]float64{}
	for poll, count := range counts {
		if ours[poll.NAPI] && !poll.Softirq() {
			rates[poll.TID] += float64(count.Polls) / time.Since(begun).Seconds()
		}
	}
	return rates, nil
}

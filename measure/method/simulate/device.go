// Package simulate has simulated devices under test: a capacity, a loss curve, a queue and noise,
// all from a seed. Unlike for a real network, the right answer of a search is known. A device is
// not safe for concurrent use.
package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
)

// Device is a network with limited forwarding capacity.
type Device struct {
	// Seed makes the noise: the same seed and the same trials give the same outcomes.
	Seed uint64
	// CapacityPPS is its forwarding rate, in the median of trials.
	CapacityPPS float64
	// QueuePackets is what it can hold beyond that before it drops.
	QueuePackets float64
	// Collapse is the fraction of the packets beyond its capacity that each cost it one that it
	// could have forwarded, like the interrupt for a dropped packet.
	Collapse float64
	// Knee and Slope are a loss curve: beyond Knee × capacity, the loss ratio grows by Slope per
	// further fraction of the capacity. Slope 0 means no such loss.
	Knee, Slope float64
	// Jitter is the relative standard deviation of the capacity between trials.
	Jitter float64
	// Stalls is the fraction of trials in which it stalls and loses a hundredth of the packets at
	// any rate.
	Stalls float64
	// Latency is the minimum latency; 0 records none.
	Latency time.Duration
	// GeneratorPPS is what the generator that tests it can send; 0: any rate.
	GeneratorPPS float64
	// AlwaysLate is how late its packets leave at any rate.
	AlwaysLate time.Duration
	// Overhead is the time of a trial beyond its duration.
	Overhead time.Duration
	// trials counts, so that each trial has its own noise.
	trials uint64
}

// stallLoss is the fraction of a trial's packets that a stall loses.
const stallLoss = 0.01

// latencySamples is the number of packets per trial that get a latency.
const latencySamples = 2000

// Trial runs the device as a method's trial.
func (d *Device) Trial(ctx context.Context, load method.Load) (method.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return method.Outcome{}, err
	}
	d.trials++
	random := rand.New(rand.NewPCG(d.Seed, d.trials))
	capacity := d.CapacityPPS * (1 + d.Jitter*random.NormFloat64())
	stalled := random.Float64() < d.Stalls
	seconds := load.Duration.Seconds()
	intended := math.Round(load.RatePPS * seconds)
	if load.Packets > 0 {
		intended = min(intended, float64(load.Packets))
		seconds = intended / load.RatePPS
	}
	sent, rate := intended, load.RatePPS
	if d.GeneratorPPS > 0 {
		sent, rate = min(sent, math.Floor(d.GeneratorPPS*seconds)), min(rate, d.GeneratorPPS)
	}
	lost := d.lost(rate, seconds, sent, capacity)
	if stalled {
		lost += stallLoss * (sent - lost)
	}
	o := method.Outcome{
		ID: fmt.Sprintf("%04d", d.trials), Intended: uint64(intended),
		Received: uint64(sent - min(sent, math.Floor(lost))),
		Unsent:   uint64(intended - sent),
		Elapsed:  load.Duration + d.Overhead,
	}
	if o.Unsent > 0 {
		o.Invalid = "the generator is too slow"
	}
	o.SendLagP99 = d.sendLag(load.RatePPS, load.Duration)
	o.SendLagMax = o.SendLagP99
	if d.Latency > 0 {
		o.Latency = d.latencies(random, load.RatePPS/capacity, o.Received)
	}
	return o, nil
}

// lost is the number of packets lost in a trial without a stall.
func (d *Device) lost(rate, seconds, intended, capacity float64) float64 {
	curve := 0.0
	if d.Slope > 0 {
		curve = max(0, rate/capacity-d.Knee) * d.Slope
	}
	excess := max(0, (rate-capacity)*(1+d.Collapse))
	return max(0, excess*seconds-d.QueuePackets) + min(1, curve)*intended
}

// sendLag is the 99th percentile of the generator's, whose queue is M/D/1 and fills up at its highest rate.
func (d *Device) sendLag(rate float64, duration time.Duration) time.Duration {
	if d.GeneratorPPS == 0 || d.AlwaysLate > 0 {
		return d.AlwaysLate
	}
	load := rate / d.GeneratorPPS
	if load >= 1 {
		return duration / 10
	}
	return min(time.Duration(math.Log(100)*load/(2*(1-load))/d.GeneratorPPS*float64(time.Second)), duration/10)
}

// latencies samples those of a queue with a constant service rate, M/D/1.
func (d *Device) latencies(random *rand.Rand, load float64, received uint64) *result.Histogram {
	h := result.NewHistogram()
	load = min(load, 0.99)
	service := float64(time.Second) / d.CapacityPPS
	mean := service * load / (2 * (1 - load))
	for range min(received, latencySamples) {
		h.Record(d.Latency.Nanoseconds() + int64(mean*random.ExpFloat64()))
	}
	return h
}

// Truth is the highest rate at which a trial of this length loses at most lossRatio in all but
// exceedRatio of the trials: what a search with this goal would find in unlimited time.
func (d *Device) Truth(lossRatio, exceedRatio float64, duration time.Duration) float64 {
	low, high := 0.0, 2*(d.CapacityPPS+d.QueuePackets/duration.Seconds())
	for range 100 {
		middle := (low + high) / 2
		if d.passes(middle, lossRatio, duration) >= 1-exceedRatio {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// passes is the probability that a trial has low loss.
func (d *Device) passes(rate, lossRatio float64, duration time.Duration) float64 {
	seconds := duration.Seconds()
	intended := math.Round(rate * seconds)
	low := func(capacity float64) bool {
		return math.Floor(d.lost(rate, seconds, intended, capacity)) <= lossRatio*intended
	}
	// Higher capacity means less loss: find the capacity from which the loss is low.
	undisturbed := 0.0
	if d.Jitter == 0 {
		if low(d.CapacityPPS) {
			undisturbed = 1
		}
	} else {
		from, to := -8.0, 8.0
		for range 60 {
			middle := (from + to) / 2
			if low(d.CapacityPPS * (1 + d.Jitter*middle)) {
				to = middle
			} else {
				from = middle
			}
		}
		undisturbed = 0.5 * math.Erfc(to/math.Sqrt2)
	}
	if lossRatio < stallLoss {
		undisturbed *= 1 - d.Stalls
	}
	return undisturbed
}

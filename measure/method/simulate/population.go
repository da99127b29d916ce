package simulate

import (
	"math"
	"math/rand/v2"
)

// Kind is the kind of devices in a population.
type Kind int

const (
	// Quiet devices have no noise: the same trial has the same outcome.
	Quiet Kind = iota
	// Noisy ones differ between trials, and sometimes stall.
	Noisy
)

// Population is n varied devices: from 10 kpps to 30 Mpps, with and without queues, gradual loss
// and collapse under overload.
func Population(kind Kind, n int, seed uint64) []Device {
	random := rand.New(rand.NewPCG(seed, uint64(kind)))
	devices := make([]Device, n)
	for i := range devices {
		d := Device{Seed: random.Uint64(), CapacityPPS: 10_000 * math.Pow(3000, random.Float64())}
		if random.IntN(2) == 0 {
			d.QueuePackets = math.Exp2(float64(4 + random.IntN(9))) // 16 to 4096, like rings
		}
		if random.IntN(3) == 0 {
			d.Collapse = random.Float64()
		}
		if random.IntN(3) == 0 {
			d.Knee, d.Slope = 0.8+0.2*random.Float64(), math.Pow(10, -3*random.Float64())
		}
		if kind == Noisy {
			d.Jitter = 0.002 * random.Float64()
			if random.IntN(2) == 0 {
				d.Stalls = 0.2 * random.Float64()
			}
		}
		devices[i] = d
	}
	return devices
}

// CeilingPPS is what the generator can send to the device: from just above what the device forwards
// and holds in a second to a hundred times that.
func (d *Device) CeilingPPS() float64 {
	random := rand.New(rand.NewPCG(d.Seed, math.MaxUint64))
	return (d.CapacityPPS + d.QueuePackets) * 1.05 * math.Pow(100, random.Float64())
}

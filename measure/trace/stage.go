package trace

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"nines.dev/nines/result"
)

// Stages says how to follow packets through the kernel.
type Stages struct {
	// UDPPort is the engines' port; 0 follows none.
	UDPPort int
	// IP is the packets' IP version, 4 or 6 (0: 4).
	IP int
	// Every follows one in this many packets, a power of two (0: each), plus any late ones. It is
	// for rates at which following all would cost too much.
	Every int
	// Nodes are the network namespaces in which packets are followed, by inode number, each with a
	// name.
	Nodes map[uint32]string
}

// ipBytes is the length of the packets' IP header.
func (s *Stages) ipBytes() uint32 {
	if s.IP == 6 {
		return 40 // RFC 8200, section 3
	}
	return 20
}

// followedPPS is the least number of packets followed per second, all at lower rates: enough for a
// 99.9 % percentile of each second.
const followedPPS = 12_500

// EveryAt is Stages.Every for a rate in packets a second; 0 is an unlimited rate.
func EveryAt(pps float64) int {
	if pps <= 0 {
		return 64
	}
	return 1 << (bits.Len64(max(uint64(pps/followedPPS), 1)) - 1)
}

// stages are enum stage of bpf/record.h: the places on a packet's path through the kernel.
var stages = []string{"send", "qdisc", "driver", "stack", "wake", "run", "read"}

// Those of them that show which thread has a packet.
const (
	stageQdisc  = 1
	stageDriver = 2
	stageWake   = 4
	stageRead   = 6
)

// Leaves reports whether a packet leaves by a device at a stage with this name.
func Leaves(stage string) bool { return stage == stages[stageQdisc] || stage == stages[stageDriver] }

// stageName is the stage with its device, if it has one.
func stageName(stage uint16, device string, has bool) string {
	name := nameOf(stages, uint64(stage))
	if has {
		name += " " + device
	}
	return name
}

// The format of a delay, as in bpf/record.h.
const (
	bucketBits  = 5
	bucketCount = 32 * 32
	delayHead   = 48
	delayBytes  = delayHead + 4*bucketCount
	delaysEach  = 64
)

// delay is the time that packets took from one place to the next.
type delay struct {
	device      uint64
	from, to    uint32
	count, sum  uint64
	least, most uint64
	buckets     [bucketCount]uint64
}

func decodeDelay(raw []byte) delay {
	word := binary.LittleEndian.Uint64
	d := delay{
		device: word(raw), from: binary.LittleEndian.Uint32(raw[8:]), to: binary.LittleEndian.Uint32(raw[12:]),
		count: word(raw[16:]), sum: word(raw[24:]), least: word(raw[32:]), most: word(raw[40:]),
	}
	for i := range d.buckets {
		d.buckets[i] = uint64(binary.LittleEndian.Uint32(raw[delayHead+4*i:]))
	}
	return d
}

// bucketTop is the largest value of a bucket.
func bucketTop(i int) uint64 {
	if i < 1<<bucketBits {
		return uint64(i)
	}
	exponent := i>>bucketBits - 1
	return (uint64(i&(1<<bucketBits-1))+1<<bucketBits+1)<<exponent - 1
}

// add adds another CPU's counts of the same delay.
func (d *delay) add(other delay) {
	if d.count == 0 {
		*d = other
		return
	}
	d.count += other.count
	d.sum += other.sum
	d.least, d.most = min(d.least, other.least), max(d.most, other.most)
	for i, n := range other.buckets {
		d.buckets[i] += n
	}
}

// percentiles of a delay, accurate to 3 %.
func (d *delay) percentiles() result.Percentiles {
	// Packets counted while the buckets were read are in only one of the two counts.
	var counted uint64
	for _, n := range d.buckets {
		counted += n
	}
	mean := float64(d.sum) / float64(max(d.count, 1))
	return result.MakePercentiles(counted, int64(d.least), int64(d.most), mean, func(p result.Percentile) int64 {
		rank, below := result.Rank(p.P, counted), uint64(0)
		for i, n := range d.buckets {
			if below += n; below >= rank {
				return int64(min(max(bucketTop(i), d.least), d.most))
			}
		}
		return int64(d.most)
	})
}

// stageDelays joins the delays of all CPUs, in path order at each device.
func stageDelays(raw []byte, names *names) []result.StageDelay {
	type key struct {
		device   uint64
		from, to uint32
	}
	joined := make(map[key]*delay)
	var order []key
	for one := range slices.Chunk(raw, delayBytes) {
		if len(one) < delayBytes {
			break
		}
		d := decodeDelay(one)
		if d.count == 0 {
			continue
		}
		k := key{d.device, d.from, d.to}
		if joined[k] == nil {
			joined[k] = &delay{}
			order = append(order, k)
		}
		joined[k].add(d)
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(names.device(a.device), names.device(b.device)), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	var list []result.StageDelay
	for _, k := range order {
		list = append(list, result.StageDelay{
			From: nameOf(stages, uint64(k.from)), To: nameOf(stages, uint64(k.to)), Device: names.device(k.device), Delay: joined[k].percentiles(),
		})
	}
	return list
}

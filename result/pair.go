package result

// PairSchema names the format of pair.json.
const PairSchema = "nines/pair/v1"

// Pair is pair.json of a pair of captures: what happened over time, and where to look in the captures.
type Pair struct {
	Schema string `json:"schema"`
	// Pre and Post are the paths of the captures as they were given; Pre has the packets first.
	Pre  string `json:"pre"`
	Post string `json:"post"`
	// Series are the packets of PRE in equal intervals of their times.
	Series PairSeries `json:"series"`
	// Slowest are the slowest packets, the slowest first.
	Slowest []SlowPacket `json:"slowest"`
}

// PairSeries has one value for each interval of StepNs, from the first packet on. A figure is null where its interval
// has too few packets for it.
type PairSeries struct {
	StepNs  int64    `json:"step_ns"`
	Sent    []uint64 `json:"sent_packets"`
	Lost    []uint64 `json:"lost_packets"`
	LeastNs []*int64 `json:"least_ns"`
	P50Ns   []*int64 `json:"p50_ns"`
	P99Ns   []*int64 `json:"p99_ns"`
	MostNs  []*int64 `json:"most_ns"`
	// ClockNs is how far the second clock has moved ahead of the first since the first packet, as the smallest delays
	// show it; null where they do not.
	ClockNs []*int64 `json:"clock_ns"`
}

// SlowPacket is a packet and where it is in the captures.
type SlowPacket struct {
	LatencyNs int64 `json:"latency_ns"`
	// PreNs and PostNs are its times since 1970, POST's with the requested offset.
	PreNs  int64 `json:"pre_unix_ns"`
	PostNs int64 `json:"post_unix_ns"`
	// PreFrame and PostFrame are its numbers in the files, from 1, as Wireshark counts; 0 where another packet of POST has
	// the same time.
	PreFrame  uint64 `json:"pre_frame"`
	PostFrame uint64 `json:"post_frame"`
	// Flow is its addresses, ports and protocol.
	Flow string `json:"flow"`
}

// complete sets the schema, and makes JSON have [] instead of null.
func (p *Pair) complete() {
	p.Schema = PairSchema
	if p.Slowest == nil {
		p.Slowest = []SlowPacket{}
	}
	s := &p.Series
	for _, counts := range []*[]uint64{&s.Sent, &s.Lost} {
		if *counts == nil {
			*counts = []uint64{}
		}
	}
	for _, times := range []*[]*int64{&s.LeastNs, &s.P50Ns, &s.P99Ns, &s.MostNs, &s.ClockNs} {
		if *times == nil {
			*times = []*int64{}
		}
	}
}

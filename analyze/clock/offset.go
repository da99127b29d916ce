package clock

// Offset is how far the second clock is ahead of the first, by packets in both directions.
type Offset struct {
	// AheadNs is right if the fastest packets of both directions take equally long. In any case the
	// offset differs from it by at most BoundNs, as no packet arrives before it is sent. If BoundNs
	// is negative, the offset has changed by at least twice as much.
	AheadNs int64 `json:"ahead_ns"`
	BoundNs int64 `json:"bound_ns"`
}

// TwoWay estimates the offset from the minimum latency of the packets to the second clock, and of
// those back from it.
func TwoWay(leastNs, backLeastNs int64) *Offset {
	return &Offset{AheadNs: (leastNs - backLeastNs) / 2, BoundNs: (leastNs+backLeastNs)/2 + (leastNs+backLeastNs)%2}
}

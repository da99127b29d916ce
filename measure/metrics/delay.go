package metrics

// delays returns D(i) of the packets received.
func delays(due, received []int64) series {
	return series{len(due), func(at int, block []int64) (int, int) {
		n, i := 0, at
		for ; i < len(due) && n < len(block); i++ {
			if received[i] != Lost {
				block[n] = received[i] - due[i]
				n++
			}
		}
		return n, i
	}}
}

// variations returns the inter-packet delay variations D(i) − D(i−1) of consecutively sent packets.
// They are undefined if either was lost (RFC 3393 section 2.4, RFC 5481 section 4.1).
func variations(due, received []int64) series {
	return series{len(due), func(at int, block []int64) (int, int) {
		n, i := 0, max(at, 1)
		for ; i < len(due) && n < len(block); i++ {
			if received[i] != Lost && received[i-1] != Lost {
				block[n] = (received[i] - due[i]) - (received[i-1] - due[i-1])
				n++
			}
		}
		return n, i
	}}
}

// absolute returns a series' absolute values; seen records the signed ones.
func absolute(s series, seen *extremes) series {
	return series{s.length, func(at int, block []int64) (int, int) {
		n, next := s.next(at, block)
		seen.add(block[:n])
		for i, v := range block[:n] {
			block[i] = max(v, -v)
		}
		return n, next
	}}
}

// extremes are the least and the largest value; 0 without any.
type extremes struct {
	of  [2]int64
	any bool
}

func (e *extremes) add(values []int64) {
	if len(values) == 0 {
		return
	}
	if !e.any {
		e.of, e.any = [2]int64{values[0], values[0]}, true
	}
	least, most := e.of[0], e.of[1]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	e.of = [2]int64{least, most}
}

// gaps returns the times from each packet to the next.
func gaps(times []int64) series {
	return series{len(times), func(at int, block []int64) (int, int) {
		n, i := 0, max(at, 1)
		for ; i < len(times) && n < len(block); i++ {
			block[n] = times[i] - times[i-1]
			n++
		}
		return n, i
	}}
}

// gapsAlong returns the times from each packet to the next in another order.
func gapsAlong(order []uint32, times []int64) series {
	return series{len(order), func(at int, block []int64) (int, int) {
		n, i := 0, max(at, 1)
		for ; i < len(order) && n < len(block); i++ {
			block[n] = times[order[i]] - times[order[i-1]]
			n++
		}
		return n, i
	}}
}

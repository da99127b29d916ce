package metrics

// delays are D(i), those of the packets received.
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

// variations are the inter-packet delay variations D(i) − D(i−1) of packets that were
// sent one after the other. It is undefined where either was lost (RFC 3393 section
// 2.4, RFC 5481 section 4.1).
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

func absolute(s series) series {
	return series{s.length, func(at int, block []int64) (int, int) {
		n, next := s.next(at, block)
		for i, v := range block[:n] {
			block[i] = max(v, -v)
		}
		return n, next
	}}
}

// extremes are a series' least and largest value, 0 if it has none.
func extremes(s series) [2]int64 {
	var found [2]int64
	empty := true
	s.each(func(block []int64) {
		if empty {
			found, empty = [2]int64{block[0], block[0]}, false
		}
		for _, v := range block {
			found[0], found[1] = min(found[0], v), max(found[1], v)
		}
	})
	return found
}

// gaps are the times from each packet to the next.
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

// gapsAlong are the times from each packet to the next in another order.
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

package analyze

// ranked moves values so that the one of a rank, from 1, is at its place in their order, and returns
// it: C. A. R. Hoare, "Algorithm 65: Find", CACM 4 (7), 1961. Sorting all of them takes longer.
func ranked(values []int64, rank uint64) int64 {
	k, low, high := int(rank)-1, 0, len(values)-1
	for low < high {
		pivot, i, j := values[k], low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for pivot < values[j] {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		if j < k {
			low = i
		}
		if k < i {
			high = j
		}
	}
	return values[k]
}

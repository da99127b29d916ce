package undisturbed

// timesHeap is a binary heap of times, the earliest first. container/heap would call an interface for each of ten
// million packets.
type timesHeap []int64

func (h *timesHeap) push(ns int64) {
	*h = append(*h, ns)
	t := *h
	for at := len(t) - 1; at > 0; {
		parent := (at - 1) / 2
		if t[parent] <= t[at] {
			break
		}
		t[parent], t[at] = t[at], t[parent]
		at = parent
	}
}

// pop removes the earliest.
func (h *timesHeap) pop() {
	t := *h
	last := len(t) - 1
	t[0] = t[last]
	t = t[:last]
	*h = t
	for at := 0; ; {
		child := 2*at + 1
		if child >= last {
			return
		}
		if child+1 < last && t[child+1] < t[child] {
			child++
		}
		if t[at] <= t[child] {
			return
		}
		t[at], t[child] = t[child], t[at]
		at = child
	}
}

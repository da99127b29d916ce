package duet

import (
	"math"

	"nines.dev/nines/result"
)

// curve is the distribution of one side's latencies around a percentile, block by block.
type curve struct {
	p      float64
	values []float64 // rising
	// above are the packets of each block above each value, by weight, and all those of each block.
	above [][]float64
	all   []float64
	total float64
	// beyond are the packets of each block above the percentile.
	beyond []float64
}

// mostValues bounds the values of a curve. Between them it is a straight line.
const mostValues = 64

// reach is how many standard errors a curve goes from its percentile: further than any draw of a bootstrap.
const reach = 6

func (t *Trial) curveOf(side, kind int, p float64, weight func(ns float64) float64) curve {
	c := curve{p: p, all: make([]float64, len(t.blocks))}
	packets := make([]float64, len(t.dense[side][kind]))
	weights := make([]float64, len(packets))
	for i, b := range t.blocks {
		for _, n := range b.counts[side][kind] {
			if weights[n.index] == 0 {
				weights[n.index] = weight(result.ValueOf(int64(n.index)))
			}
			w := float64(n.packets) * weights[n.index]
			packets[n.index] += w
			c.all[i] += w
			c.total += w
		}
	}
	if c.total == 0 {
		return c
	}
	at := indexes(packets, c.total, p, p)[0]
	c.beyond = t.aboveIn(side, kind, weights, []uint32{at})[0]
	squares := 0.0
	for i, n := range c.beyond {
		squares += math.Pow(n-(1-p)*c.all[i], 2)
	}
	far := reach * math.Sqrt(squares) / c.total
	grid := thin(indexes(packets, c.total, p-far, p+far))
	for _, index := range grid {
		c.values = append(c.values, result.ValueOf(int64(index)))
	}
	c.above = t.aboveIn(side, kind, weights, grid)
	return c
}

// indexes are those in use from the one at a share of all packets to that at another, and one on both sides.
func indexes(packets []float64, total, from, to float64) []uint32 {
	var list []uint32
	sum := 0.0
	for index, n := range packets {
		if n == 0 {
			continue
		}
		if sum += n; sum < from*total {
			list = list[:0]
		}
		list = append(list, uint32(index))
		if sum >= to*total && len(list) > 1 {
			break
		}
	}
	return list
}

// thin leaves out indexes if they are too many.
func thin(list []uint32) []uint32 {
	if len(list) <= mostValues {
		return list
	}
	var kept []uint32
	for i := range mostValues {
		kept = append(kept, list[i*(len(list)-1)/(mostValues-1)])
	}
	return kept
}

// aboveIn counts the packets of each block above each of some rising indexes.
func (t *Trial) aboveIn(side, kind int, weights []float64, grid []uint32) [][]float64 {
	// below[i] is the first of the grid that is not below index i.
	below := make([]int, len(weights))
	for index, at := 0, 0; index < len(below); index++ {
		for at < len(grid) && grid[at] < uint32(index) {
			at++
		}
		below[index] = at
	}
	above := make([][]float64, len(grid))
	for g := range above {
		above[g] = make([]float64, len(t.blocks))
	}
	for i, b := range t.blocks {
		for _, n := range b.counts[side][kind] {
			if at := below[n.index]; at > 0 {
				above[at-1][i] += float64(n.packets) * weights[n.index]
			}
		}
	}
	for g := len(grid) - 2; g >= 0; g-- {
		for i := range above[g] {
			above[g][i] += above[g+1][i]
		}
	}
	return above
}

// value is the percentile if each block is taken a number of times.
func (c *curve) value(times []float64) float64 {
	beyond := (1 - c.p) * dot(c.all, times)
	low, high := 0, len(c.values)-1 // the first value that no more packets are above
	lowAbove, highAbove := math.Inf(1), 0.0
	for low < high {
		middle := (low + high) / 2
		if above := dot(c.above[middle], times); above <= beyond {
			high, highAbove = middle, above
		} else {
			low, lowAbove = middle+1, above
		}
	}
	if low == 0 || math.IsInf(lowAbove, 1) || lowAbove <= highAbove {
		return c.values[low]
	}
	return c.values[low] - (c.values[low]-c.values[low-1])*(beyond-highAbove)/(lowAbove-highAbove)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// events is how many independent events are expected beyond the percentile. Packets that come in clusters count as one
// (docs/statistics.md, "A percentile of one trial"), and what is beyond that of both sides in a block was the same event.
func events(sides [2]curve) float64 {
	a, b := &sides[A], &sides[B]
	var sum, squares float64
	for i := range a.beyond {
		n := a.beyond[i] + b.beyond[i]
		sum, squares = sum+n, squares+n*n
	}
	cluster := 1.0
	if sum > 0 {
		cluster = max(squares/sum-sum/float64(len(a.beyond)), 1)
	}
	return (1 - a.p) * (a.total + b.total) / cluster
}

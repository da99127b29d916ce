package draft

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// mostLoads is how many rates or sizes a draft takes: more belong into a file.
const mostLoads = 20

// readRates reads lists and ranges of packets a second.
func readRates(texts []string) ([]float64, error) {
	return readLoads(texts, "--rate", func(text string) (float64, error) {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			rate, err = spec.ParsePacketRate(text)
		}
		if err != nil || !(rate > 0) || math.IsInf(rate, 1) {
			return 0, exit.Wrongf("--rate %s: write packets a second: 10000, 10k, 1.5M, a list 10k,100k or a range 10k..1M", text)
		}
		return rate, nil
	})
}

// readFrames reads lists of frame sizes.
func readFrames(texts []string) ([]int, error) {
	sizes, err := readLoads(texts, "--frame", func(text string) (float64, error) {
		bytes, err := strconv.Atoi(text)
		if err != nil || bytes <= 0 {
			return 0, exit.Wrongf("--frame %s: write the bytes of an Ethernet frame with its FCS: 64, or a list 64,1518", text)
		}
		return float64(bytes), nil
	})
	frames := make([]int, len(sizes))
	for i, size := range sizes {
		frames[i] = int(math.Round(size))
	}
	return frames, err
}

func readLoads(texts []string, flag string, read func(text string) (float64, error)) ([]float64, error) {
	var all []float64
	for _, part := range strings.Split(strings.Join(texts, ","), ",") {
		if part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "..")
		from, err := read(low)
		if err != nil {
			return nil, err
		}
		loads := []float64{from}
		if isRange {
			to, err := read(high)
			if err != nil {
				return nil, err
			}
			if to <= from {
				return nil, exit.Wrongf("%s %s: a range goes from the smaller to the larger", flag, part)
			}
			loads = steps(from, to)
		}
		for _, load := range loads {
			if !slices.Contains(all, load) {
				all = append(all, load)
			}
		}
	}
	if len(all) > mostLoads {
		return nil, exit.Wrongf("%s: %d values, and at most %d can be tried at once; name fewer, or write a file: nines init", flag, len(all), mostLoads)
	}
	return all, nil
}

// steps goes up by 3 and 10: 10k, 30k, 100k, 300k, 1M. The last step is the end of the range, however near.
func steps(from, to float64) (list []float64) {
	for decade := from; ; decade *= 10 {
		for _, step := range []float64{decade, 3 * decade} {
			if step > to/1.2 {
				return append(list, to)
			}
			list = append(list, step)
		}
	}
}

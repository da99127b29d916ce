package reproduce

import (
	"fmt"
	"path/filepath"

	"gonum.org/v1/gonum/stat"

	"nines.dev/nines/expect"
	"nines.dev/nines/report/figure"
)

// secondly are the packets in each second of a published measurement, without the last, in which it ended.
type secondly []float64

func readSeconds(root, name string) (secondly, error) {
	file, err := figure.ReadPublished(filepath.Join(root, name), "", "")
	if err != nil {
		return nil, err
	}
	points := file.Points()
	if file.Kind != figure.Rate || len(points) < fewestPoints {
		return nil, fmt.Errorf("%s has no packets of three seconds or more", name)
	}
	var list secondly
	for _, p := range points[:len(points)-2] {
		list = append(list, p.Y)
	}
	return list, nil
}

// fewestPoints has two whole seconds: a curve of a file's rows repeats the last, where it ends.
const fewestPoints = 4

func (s secondly) tells(q expect.Quantity) (float64, error) {
	mean := stat.Mean(s, nil)
	switch q.Figure {
	case expect.Received:
		return mean, nil
	case expect.Variation:
		return stat.StdDev(s, nil) / mean, nil
	}
	return 0, fmt.Errorf("published packet rates do not tell %s", q.Name())
}

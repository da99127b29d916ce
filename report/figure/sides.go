package figure

import (
	"maps"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// combination is what a curve is of: all packets of a group's trials, or those of one side of its duets.
type combination struct {
	report.Group
	// stream names the side, and number is its place in outliers.csv; 0: all packets.
	stream string
	number uint16
}

// sideKey is the variable that tells the sides of a duet apart.
const sideKey = "side"

// combinations are the remaining groups, with the sides of duets apart: a curve of both together would be of neither.
func (s *selection) combinations() []combination {
	var list []combination
	for _, g := range s.groups() {
		if slices.ContainsFunc(g.Trials, func(t result.Trial) bool { return t.Duet == nil || len(t.Duet.Sides) != len(t.Streams) }) {
			list = append(list, combination{Group: g})
			continue
		}
		for i, side := range g.Trials[0].Duet.Sides {
			of := g
			if of.Variables = maps.Clone(g.Variables); of.Variables == nil {
				of.Variables = map[string]any{}
			}
			of.Variables[sideKey] = side.Label
			list = append(list, combination{of, side.Name, uint16(i + 1)})
		}
	}
	return list
}

// histograms are those of a trial's packets, or of its side's.
func (c combination) histograms(folder result.Folder) (result.Histograms, error) {
	if c.number == 0 {
		return folder.Histograms()
	}
	latency, err := folder.StreamLatency(c.stream)
	return result.Histograms{Latency: latency}, err
}

// has reports whether an outlier is of the combination.
func (c combination) has(o result.Outlier) bool { return c.number == 0 || o.Stream == c.number }

package spec

import (
	"encoding/json"
	"strconv"
)

// InTurnVariable is the swept variable of InTurn, with the values "a" and "b".
const InTurnVariable = "variant"

// InTurn is a file whose trials are those of two files in turn, with at least that many repeats: what differs between them
// is swept, and all else is the first one's.
func InTurn(a, b *File, repeats int) (*File, error) {
	differences, err := variantsOf(a, b)
	if err != nil {
		return nil, err
	}
	variants := map[string]map[string]any{}
	for side, name := range []string{SideA, SideB} {
		variants[name] = map[string]any{}
		for _, d := range differences {
			variants[name][d.path] = nil
			if value := d.values[side]; value != nil {
				variants[name][d.path] = value.plain()
			}
		}
	}
	text, err := json.Marshal(variants)
	if err != nil {
		return nil, err
	}
	both := *a
	return &both, both.inTurn("sweep."+InTurnVariable+"="+string(text), repeats)
}

// ValuesInTurn sets a swept variable of a file to two values, whose trials run in turn, with at least that many repeats.
func (f *File) ValuesInTurn(variable, a, b string, repeats int) error {
	return f.inTurn("sweep."+variable+"=["+a+", "+b+"]", repeats)
}

func (f *File) inTurn(sweep string, repeats int) error {
	sets := []string{sweep, "order=" + string(OrderInterleaved)}
	if runs, err := f.Runs(); err != nil || runs[0].Experiment.Repeat < repeats {
		sets = append(sets, "repeat="+strconv.Itoa(repeats))
	}
	f.root = f.root.with([]string{"expect"}, nil).with([]string{"reference"}, nil) // of one variant
	for _, set := range sets {
		if err := f.Set(set); err != nil {
			return err
		}
	}
	return nil
}

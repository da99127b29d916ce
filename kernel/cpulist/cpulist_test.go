package cpulist

import (
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]int{
		"": {}, "0": {0}, "0-3": {0, 1, 2, 3}, "8, 2-3\n": {2, 3, 8}, "1,1-2": {1, 2},
	} {
		got, err := Parse(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "1-", "-1", "3-1", "1,,2", "0-4000000000", "(null)", "1:2"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, and no error", text, got)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("the error of %q does not show it: %v", text, err)
		}
	}
}

// TestRoundTrip: parsing a formatted list gives the same list.
func TestRoundTrip(t *testing.T) {
	same := func(raw []uint8) bool {
		var list []int
		for _, n := range raw {
			list = append(list, int(n))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		got, err := Parse(Format(list))
		return err == nil && slices.Equal(got, list)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0-3,8", "", "65535", "0-65535", "1-2-3", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(Format(list))
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%q is %v, and formatted %q is %v, %v", text, list, Format(list), again, err)
		}
	})
}

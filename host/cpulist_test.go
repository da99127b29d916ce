package host

import (
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"": {}, "0": {0}, "0-3": {0, 1, 2, 3}, "8, 2-3\n": {2, 3, 8}, "1,1-2": {1, 2},
	} {
		got, err := ParseCPUList(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseCPUList(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "1-", "-1", "3-1", "1,,2", "0-4000000000", "(null)", "1:2"} {
		if got, err := ParseCPUList(text); err == nil {
			t.Errorf("ParseCPUList(%q) = %v, and no error", text, got)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("the error of %q does not show it: %v", text, err)
		}
	}
}

// TestCPUListRoundTrip: parsing a formatted list gives the same list.
func TestCPUListRoundTrip(t *testing.T) {
	same := func(raw []uint8) bool {
		var list []int
		for _, n := range raw {
			list = append(list, int(n))
		}
		slices.Sort(list)
		list = slices.Compact(list)
		got, err := ParseCPUList(FormatCPUList(list))
		return err == nil && slices.Equal(got, list)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func FuzzParseCPUList(f *testing.F) {
	for _, seed := range []string{"0-3,8", "", "65535", "0-65535", "1-2-3", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseCPUList(text)
		if err != nil {
			return
		}
		again, err := ParseCPUList(FormatCPUList(list))
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%q is %v, and formatted %q is %v, %v", text, list, FormatCPUList(list), again, err)
		}
	})
}

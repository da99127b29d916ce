package host

import "testing"

func TestTranslated(t *testing.T) {
	for text, want := range map[string]bool{
		"processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\n":                                 true,
		"processor\t: 0\nmodel name\t: AMD EPYC 7551P 32-Core Processor\n\nflags\t: QEMU TCG CPU\n": false,
		"": false,
	} {
		if got := translated(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

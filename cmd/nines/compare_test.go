package main

import (
	"io"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// TestComparingNothingIsAMistake: two results without a combination of values in common, and a variable whose values are
// not given.
func TestComparingNothingIsAMistake(t *testing.T) {
	one, other := writeMeasured(t, expectingFile, "veth"), writeMeasured(t, expectingFile, "bridge")
	for _, test := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"compare", one, one}, exit.Done, ""},
		{[]string{"compare", one, other}, exit.Wrong, "no combination of values in common"},
		{[]string{"compare", one, other, "--exit-code"}, exit.Undecided, "nothing of A and B matches"},
		{[]string{"compare", one, "--by", "kind"}, exit.Wrong, "the values of links.*.kind are veth"},
		{[]string{"compare", one, "--by", "kind=veth,xdp"}, exit.Wrong, "no trial has links.*.kind=xdp; the values are veth"},
		{[]string{"compare", one, "--by", "speed"}, exit.Wrong, `no single variable "speed"`},
	} {
		var said strings.Builder
		if code := execute(test.args, io.Discard, &said); code != test.code || !strings.Contains(said.String(), test.said) {
			t.Errorf("%v = %d, %s", test.args, code, said.String())
		}
	}
}

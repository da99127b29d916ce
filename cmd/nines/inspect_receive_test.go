package main

import (
	"strings"
	"testing"

	"nines.dev/nines/lab/receive"
	"nines.dev/nines/spec"
)

// For an interface whose receive mode changed since setup, inspect says what to do: the lab is up,
// so the user can do it.
func TestInspectSaysWhatToDoAboutReceiving(t *testing.T) {
	whole := receive.State{Node: "dut", Interface: "in", RX: spec.ReceiveThreaded, Mechanism: "threaded"}
	broken := whole
	broken.Problem = "NAPI instance 7 of in is gone"
	for _, test := range []struct {
		state receive.State
		want  string
	}{
		{whole, "\ndut:in: rx: threaded by threaded\n"},
		{broken, "\ndut:in: rx: threaded by threaded; NAPI instance 7 of in is gone; nines down and nines up set it up again\n"},
	} {
		var out strings.Builder
		writeReceived(&out, []receive.State{test.state})
		if out.String() != test.want {
			t.Errorf("%q, not %q", out.String(), test.want)
		}
	}
}

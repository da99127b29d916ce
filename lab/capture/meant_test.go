package capture

import "testing"

// TestWhichInterfaceCanBeMeant: in the lab of a duet, one of each side.
func TestWhichInterfaceCanBeMeant(t *testing.T) {
	for name, want := range map[string]string{
		"in":  "in a duet each side has its own: dut:in@a, dut:in@b",
		"out": "did you mean \"out1\"? its interfaces: lo, in@a, in@b, out1",
	} {
		if got := meant("dut", name, []string{"lo", "in@a", "in@b", "out1"}); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

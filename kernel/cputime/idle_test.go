package cputime

import "testing"

func TestTimesOfAllCPUs(t *testing.T) {
	idle, all, err := parseTimes("cpu  100 10 50 900 40 5 7 30 99 99\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || idle != 940 || all != 1142 {
		t.Errorf("%d of %d, %v", idle, all, err)
	}
	for _, wrong := range []string{"", "cpu 1 2", "cpu0 1 2 3 4 5 6 7 8 9 10", "cpu a 2 3 4 5 6 7 8"} {
		if _, _, err := parseTimes(wrong); err == nil {
			t.Errorf("%q has times", wrong)
		}
	}
}

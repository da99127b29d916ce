package wholehost

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestLabHardwareAfterKill: nines up is killed at moments spread over its run time, and nines down
// restores the cards each time, with VFs that nines made and with VFs of others.
// (TestLabAKilledUpLeavesTheHostAsItWas has two ports at once.) NINES_KILL_CYCLES is the number of
// moments.
func TestLabHardwareAfterKill(t *testing.T) {
	labtest.Guarantee(t)
	cycles := 1
	if labtest.Long() {
		cycles = 2
	}
	if n, err := strconv.Atoi(os.Getenv("NINES_KILL_CYCLES")); err == nil {
		cycles = n
	}
	// TestLabAKilledUpLeavesTheHostAsItWas kills while it makes functions, too.
	for _, whose := range labtest.Cases(1, []string{"others", "made"}) {
		t.Run(whose, func(t *testing.T) {
			labtest.VirtualLab(t)
			if whose == "others" {
				labs.WithOthers(t)
			}
			labs.Laboratory(t)
			file := write(t, strings.Replace(labs.AroundOthers, "name: tbothers", "name: tbkilled", 1))
			before := traces.Cards(t)
			start := time.Now()
			nines(t, "up", file)
			took := time.Since(start)
			killed, missed := 0, 0
			for i := 0; i <= cycles; i++ {
				if i > 0 {
					was, ran := killAfter(t, command("up", file), took*time.Duration(i)/time.Duration(cycles+1))
					if was {
						killed++
					} else if missed++; missed < 10*cycles {
						// It was up before: an up of a busy host says little of the next.
						took = ran
						i--
					}
				}
				gone(t, "tbkilled")
				if changes := before.Changes(t); changes != "" {
					t.Fatalf("after cycle %d of %d (an up takes %v) the cards have changed:\n%s", i, cycles, took, changes)
				}
				if left, _ := os.ReadDir(pci.ClaimsDir); len(left) > 0 {
					t.Fatalf("after cycle %d claims are left: %v", i, left)
				}
			}
			if killed < cycles {
				t.Errorf("only %d of %d were killed", killed, cycles)
			}
			t.Logf("%d of %d killed in an up of %v", killed, cycles, took)
		})
	}
}

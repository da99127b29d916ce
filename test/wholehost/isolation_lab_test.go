package wholehost

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// cyclesVariable names how often the test below kills nines; a few times if unset.
const cyclesVariable = "NINES_CYCLES"

func TestLabAKilledUpLeavesTheHostAsItWas(t *testing.T) {
	labtest.Guarantee(t)
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1)
	labtest.Root(t)
	labs.NeedLXC(t)
	cycles := 1
	if labtest.Long() {
		cycles = 3
	}
	if count := os.Getenv(cyclesVariable); count != "" {
		var err error
		if cycles, err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
	}
	// Virtual functions too: their steps and undo steps alternate with those of isolation.
	file := isolatedLab(t, `    - {name: wire, kind: sriov, endpoints: ["gen:wire", "idle:wire"], sriov: {ports: [`+labtest.LeftPort+", "+labtest.RightPort+`]}}
`)
	bound := exec.Command("taskset", "-c", "3", "sleep", "100000")
	if err := bound.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bound.Process.Kill()
		_ = bound.Wait()
	})
	// A card's driver creates queues and interrupts when the card is first set up.
	for _, port := range []string{labtest.LeftPort, labtest.RightPort} {
		labtest.Sh(t, "ip", "link", "set", port, "up")
		labtest.Sh(t, "ip", "link", "set", port, "down")
	}
	before, functions := traces.TakeSnapshot(t), traces.Cards(t)
	begun := time.Now()
	nines(t, "up", file)
	moments := moments{to: time.Since(begun)}
	if len(before.Changes(traces.TakeSnapshot(t))) < 4 {
		t.Fatal("the lab is up, and the snapshot sees little of it")
	}
	gone(t, "tbalone")
	cycle := 0
	for ; !moments.enough(cycle, cycles); cycle++ {
		after := moments.kill(t, command("up", file), func() bool { return len(before.Changes(traces.TakeSnapshot(t))) > 0 })
		gone(t, "tbalone")
		if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
			t.Fatalf("cycle %d, killed after %v:\n%s", cycle, after, strings.Join(changes, "\n"))
		}
		if changes := functions.Changes(t); changes != "" {
			t.Fatalf("cycle %d, killed after %v: the cards have changed:\n%s", cycle, after, changes)
		}
		if left, _ := os.ReadDir(pci.ClaimsDir); len(left) > 0 {
			t.Fatalf("cycle %d, killed after %v: claims are left: %v", cycle, after, left)
		}
		if cycle%5 == 4 {
			t.Logf("%d cycles in %v, %d killed", cycle+1, time.Since(begun).Round(time.Second), moments.killed)
		}
	}
	moments.report(t, cycle)
}

package growth

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/test/labtest"
)

// few and many are sizes of what is worked on, and mostGrowth is how much more work many may be: sorting is 4.8 times.
const (
	few, many  = 250, 4 * few
	mostGrowth = 5
)

// TestWorkGrowsAsItsInput has a program count that is compiled with a counter in each block of nines' code.
func TestWorkGrowsAsItsInput(t *testing.T) {
	counter := filepath.Join(t.TempDir(), "counter")
	build := exec.Command("hack/go", "build", "-covermode=atomic", "-coverpkg=nines.dev/nines/...", "-o", counter, "./test/growth/counter")
	build.Dir = labtest.Module()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(counter, fmt.Sprint(few), fmt.Sprint(many))
	run.Dir = labtest.Module()
	out, err := run.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	works := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); works++ {
		var less, more float64
		var name string
		if n, err := fmt.Sscanf(lines.Text(), "%g %g %q", &less, &more, &name); n != 3 {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		t.Logf("%s: %.0f and %.0f blocks of code, %.2f times", name, less, more, more/less)
		if less == 0 || more > mostGrowth*less {
			t.Errorf("%s: %.0f blocks of code run for %d, %.0f for %d: %.1f times", name, less, few, more, many, more/less)
		}
	}
	if works == 0 {
		t.Error("nothing was counted")
	}
}

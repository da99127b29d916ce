package killed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestDownAfterALabOfOCINodesWasKilled: at each kind of step, and in the driver's work in between.
func TestDownAfterALabOfOCINodesWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	for _, driver := range labs.OCIDrivers {
		t.Run(driver, func(t *testing.T) {
			labtest.Experiment(t)
			if driver != "runc" {
				labtest.LongForm(t) // TestDownAfterAManagerWasCutOff has what differs
			}
			labs.NeedOCIDriver(t, driver)
			whole := fmt.Sprintf(`
name: tbocikill-%s
topology:
  nodes:
    a: {runtime: oci, driver: %[1]s, image: %[2]q, init: nines, cpu_list: "0", memory: 256MiB}
    b: {runtime: oci, driver: %[1]s, image: %[2]q, init: nines, app: {kind: reflect, backend: raw}}
  links:
    - {name: v, endpoints: ["a:v", "b:v"]}
`, driver, labs.OCIImage(t, v1.Config{}))
			c := New(t, whole, strings.Replace(whole, "256MiB", "128MiB", 1))
			name := "tbocikill-" + driver
			c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
				if !killed && len(traces.Left(t, c.Prefix, c.StateDir)) < 10 {
					t.Fatal("the lab is up, and the check for what is left sees little of it")
				}
				c.Run(0, "down", name)
				c.Gone("up killed at " + said)
			})
			c.Killed(3, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, _ bool, said string) {
				c.Run(0, "down", name)
				c.Gone("apply killed at " + said)
			})
			c.Killed(1, []string{"up", c.Whole}, []string{"restart", "a", "b"}, func(_ int, _ bool, said string) {
				c.Run(0, "down", name)
				c.Gone("restart killed at " + said)
			})
			c.Killed(3, []string{"up", c.Whole}, []string{"restart", "a", "b"}, func(_ int, _ bool, said string) {
				c.Run(0, "restart", "a", "b")
				c.Run(0, "check", name) // its exit code says if something is not as planned
				c.Run(0, "down", name)
				c.Gone("restart killed and done again, " + said)
			})
			c.Killed(1, []string{"up", c.Whole}, []string{"down", name}, func(_ int, killed bool, said string) {
				if killed {
					c.Run(0, "down", name)
				}
				c.Gone("down killed at " + said)
			})
		})
	}
}

// TestDownAfterAManagerWasCutOff: nines is killed while a manager of containers makes one: before and
// after its daemons are there, and when the container runs that nines has not learnt of.
func TestDownAfterAManagerWasCutOff(t *testing.T) {
	for _, driver := range labs.OCIManagers {
		t.Run(driver, func(t *testing.T) {
			labtest.Experiment(t)
			labs.NeedOCIDriver(t, driver)
			before := traces.ManagersFiles(t)
			text := fmt.Sprintf("name: tbcut-%s\ntopology: {nodes: {a: {runtime: oci, driver: %[1]s, image: %[2]q, init: nines}}}\n", driver, labs.OCIImage(t, v1.Config{}))
			c := New(t, text, text)
			list, name := filepath.Join(t.TempDir(), "points"), "tbcut-"+driver
			t.Setenv("NINES_FAULT_LIST", list)
			c.Run(0, "up", c.Whole)
			_ = os.Unsetenv("NINES_FAULT_LIST")
			c.Run(0, "down", name)
			c.Gone("up and down")
			points, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			cut := 0
			for i, line := range strings.Split(strings.TrimSpace(string(points)), "\n") {
				if !strings.Contains(line, "manager") && !strings.Contains(line, "oci container") {
					continue
				}
				killed, said := c.Run(i+1, "up", c.Whole)
				if !killed {
					t.Fatalf("not killed at %s: %s", line, said)
				}
				cut++
				c.Run(0, "down", name)
				c.Gone("up killed at " + line)
			}
			if cut < 5 {
				t.Errorf("killed %d times, at the points of\n%s", cut, points)
			}
			if after := traces.ManagersFiles(t); !slices.Equal(before, after) {
				t.Errorf("before, the host had %q, and now %q", before, after)
			}
		})
	}
}

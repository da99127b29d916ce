package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestAContainersOutputIsBounded: of what a first process prints the newest is kept, and how much is not. How the process
// ended is said by the check, the list of labs and inspect.
func TestAContainersOutputIsBounded(t *testing.T) {
	for _, driver := range []string{"runc", "podman", "docker", "containerd"} {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			const printed, mostKept = 20 << 20, 4 << 20
			lab := up(t, fmt.Sprintf("name: tbociout%s\ntopology: {nodes: {a: {runtime: oci, driver: %s, image: %q}}}\n", driver, driver,
				labs.OCIImage(t, v1.Config{Cmd: []string{"sh", "-c", fmt.Sprintf("sleep 1; yes | head -c %d; echo the end; sleep 1; exit 3", printed)}})))
			labtest.Eventually(t, "it has ended", func() bool { return !lab.Alive("a") })
			log := lab.Place("").ContainerLog("a")
			kept := int64(0)
			for _, path := range []string{log, node.OlderLog(log)} {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				kept += info.Size()
			}
			if lost := node.LostOf(log); kept > mostKept || kept+lost != printed+int64(len("the end\n")) {
				t.Errorf("%d bytes are kept, and %d are said to be lost", kept, lost)
			}
			// A manager notes the end of what its shim or conmon has reaped.
			labtest.Eventually(t, "it is known how it ended", func() bool { return lab.Place("").Ending(*lab.Plan().Node("a")) != "" })
			faults, err := lab.Faults()
			if err != nil || len(faults) != 1 {
				t.Fatalf("the check finds %v, %v", faults, err)
			}
			const how = "its first process has ended: ended with exit code 3; its last output was: "
			seen, err := lab.Inspect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for what, said := range map[string]string{
				"check": faults[0].Problem, "the list of labs": strings.Join(statusOf(lab.Name()).Ended, "\n"), "inspect": "its first process has ended: " + seen.NodeList[0].Ending,
			} {
				if !strings.Contains(said, how) || !strings.Contains(said, "the end") {
					t.Errorf("%s says %q", what, said)
				}
			}
		})
	}
}

// TestASignalThatEndsAFirstProcessIsNamed, whatever sent it. A manager has the exit code of a shell for it.
func TestASignalThatEndsAFirstProcessIsNamed(t *testing.T) {
	for driver, how := range map[string]string{
		"runc":       "ended by SIGKILL",
		"podman":     "ended by SIGKILL, or with exit code 137 (podman does not say which)",
		"docker":     "ended by SIGKILL, or with exit code 137 (docker does not say which)",
		"containerd": "ended by SIGKILL, or with exit code 137 (containerd does not say which)",
	} {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			lab := up(t, fmt.Sprintf("name: tbociend%s\ntopology: {nodes: {a: {runtime: oci, driver: %s, image: %q}}}\n", driver, driver,
				labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}})))
			if ending := lab.Place("").Ending(*lab.Plan().Node("a")); ending != "" {
				t.Errorf("while it runs it is said to have %s", ending)
			}
			if err := lab.Running("a").Signal(9); err != nil {
				t.Fatal(err)
			}
			labtest.Eventually(t, "it is known how it ended", func() bool {
				ended := statusOf(lab.Name()).Ended
				return len(ended) == 1 && strings.Contains(ended[0], how)
			})
			if again := lab.Place("").Ending(*lab.Plan().Node("a")); again != how {
				t.Errorf("asked again, it is said to have %q", again)
			}
		})
	}
}

// TestMemoryThatRunsOutIsNamed, with the exit code that a manager tells.
func TestMemoryThatRunsOutIsNamed(t *testing.T) {
	for _, driver := range []string{"runc", "podman", "docker", "containerd"} {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			lab := up(t, fmt.Sprintf("name: tbocimem%s\ntopology: {nodes: {a: {runtime: oci, driver: %s, memory: 24MiB, image: %q}}}\n", driver, driver,
				labs.OCIImage(t, v1.Config{Cmd: []string{"sh", "-c", "sleep 1; exec tail /dev/zero"}})))
			labtest.Eventually(t, "it is known how it ended", func() bool {
				ended := statusOf(lab.Name()).Ended
				return len(ended) == 1 && strings.Contains(ended[0], "ended by SIGKILL") && strings.Contains(ended[0], "memory")
			})
		})
	}
}

// TestAnEndWithoutAnErrorIsNamed also when it is long ago, and the manager has cleaned up.
func TestAnEndWithoutAnErrorIsNamed(t *testing.T) {
	for _, driver := range []string{"runc", "podman", "docker", "containerd"} {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			lab := up(t, fmt.Sprintf("name: tbociwell%s\ntopology: {nodes: {a: {runtime: oci, driver: %s, image: %q}}}\n", driver, driver,
				labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1"}})))
			labtest.Eventually(t, "it has ended", func() bool { return !lab.Alive("a") })
			time.Sleep(500 * time.Millisecond) // conmon's note is removed meanwhile
			labtest.Eventually(t, "it is known how it ended", func() bool { return lab.Place("").Ending(*lab.Plan().Node("a")) == "ended with exit code 0" })
		})
	}
}

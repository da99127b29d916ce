package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestAContainersOutputIsBounded: of what a first process prints the newest is kept, and how much is not. How the process
// ended is said by the check, the list of labs and inspect.
func TestAContainersOutputIsBounded(t *testing.T) {
	for _, driver := range []string{"runc", "podman"} {
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
			if driver == "podman" { // conmon is its parent
				return
			}
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

// TestASignalThatEndsAFirstProcessIsNamed, whatever sent it.
func TestASignalThatEndsAFirstProcessIsNamed(t *testing.T) {
	labtest.Root(t)
	labs.NeedOCIDriver(t, "runc")
	lab := up(t, fmt.Sprintf("name: tbociend\ntopology: {nodes: {a: {runtime: oci, image: %q}}}\n", labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}})))
	if err := lab.Running("a").Signal(9); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "it is known how it ended", func() bool {
		ended := statusOf(lab.Name()).Ended
		return len(ended) == 1 && strings.Contains(ended[0], "ended by SIGKILL")
	})
}

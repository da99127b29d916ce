package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestDriversHaveTheSamePlan: nothing of a plan but the driver's name depends on the driver.
func TestDriversHaveTheSamePlan(t *testing.T) {
	planned := func(driver string) string {
		text, err := json.MarshalIndent(labs.Plan(t, `
name: tbsameplan
topology:
  nodes:
    a: {}
    b: {runtime: oci, driver: `+driver+`, image: debian, cpus: 1, memory: 256MiB, app: {kind: forward}}
  links:
    - {name: in, endpoints: ["a:tx", "b:in"]}
    - {name: out, endpoints: ["b:out", "a:rx"]}
traffic: {from: "a:tx", to: "a:rx", rate_pps: 1000, duration: 1s}
`), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), strconv.Quote(driver), `"DRIVER"`)
	}
	want := planned("runc")
	if !strings.Contains(want, `"DRIVER"`) {
		t.Fatal("the plan does not name the driver")
	}
	for _, driver := range []string{"crun", "podman", "containerd", "docker"} {
		if diff := cmp.Diff(want, planned(driver)); diff != "" {
			t.Errorf("%s (-runc +%[1]s):\n%s", driver, diff)
		}
	}
}

// TestAnOCINodesHugepagesAreLimited: its first process is in a group with the plan's limit, whatever
// version the controller is of.
func TestAnOCINodesHugepagesAreLimited(t *testing.T) {
	for _, driver := range labs.OCIDrivers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			h, err := isolate.Find(isolate.HugeTLB)
			labtest.Require(t, "the hugetlb controller", err == nil)
			lab := up(t, fmt.Sprintf("name: tbocihuge-%s\ntopology: {nodes: {b: {runtime: oci, driver: %[1]s, image: %[2]q, init: nines, hugepage_limit: 6MiB}}}\n",
				driver, labs.OCIImage(t, v1.Config{})))
			dirs, err := cgroup.DirsOf(lab.PID("b"))
			if err != nil {
				t.Fatal(err)
			}
			file := map[int]string{1: "hugetlb.2MB.limit_in_bytes", 2: "hugetlb.2MB.max"}[h.Version]
			if text, err := os.ReadFile(filepath.Join(dirs[h.Mount], file)); strings.TrimSpace(string(text)) != strconv.Itoa(6<<20) {
				t.Errorf("its hugepages are limited to %q: %v", text, err)
			}
			downWithoutTrace(t, lab)
		})
	}
}

// TestLabIsolatedOCINodes: the container of each driver is on the lab's own CPU, and the manager
// beside it on those of the host's other processes.
func TestLabIsolatedOCINodes(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1)
	// docker has daemons beside the container, and podman a process for each.
	for _, driver := range labtest.Cases(2, []string{"docker", "podman", "containerd", "runc", "crun"}) {
		t.Run(driver, func(t *testing.T) {
			labs.NeedOCIDriver(t, driver)
			before := traces.TakeSnapshot(t)
			dut := fmt.Sprintf("dut: {runtime: oci, driver: %s, init: nines, image: %q,", driver, labs.OCIImage(t, v1.Config{}))
			lab := up(t, strings.NewReplacer("dut: {runtime: lxc,", dut, "idle: {runtime: lxc}", "idle: {}").Replace(labs.Isolated))
			taken := tasks.Set(lab.Plan().IsolatedCPUs)
			own := lab.Plan().Node("dut")
			if allowed := in(t, lab, "dut", "grep", "Cpus_allowed_list", "/proc/self/status"); !strings.HasSuffix(allowed, "\t"+tasks.Set(own.CPUs).String()) {
				t.Errorf("the container may use %q, not %v", allowed, own.CPUs)
			}
			managers := 0
			for _, thread := range threadsOf(t) {
				switch thread.Name {
				case "dockerd", "containerd", "containerd-shim", "conmon":
					managers++
					if thread.CPUs.Meets(taken) {
						t.Errorf("%s may use %s, and %s are isolated", thread.Name, thread.CPUs, taken)
					}
				}
			}
			if alone := driver == "runc" || driver == "crun"; alone != (managers == 0) {
				t.Errorf("%d threads of managers", managers)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, change := range before.Changes(traces.TakeSnapshot(t)) {
				t.Error(change)
			}
		})
	}
}

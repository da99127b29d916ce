package cgroup

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestAGroupIsFoundByTheFirstProcess: the file has the process that was asked for.
func TestAGroupIsFoundByTheFirstProcess(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	hierarchies, err := Mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		for _, controller := range h.Controllers {
			path, err := FileOf(os.Getpid(), controller, "cgroup.procs")
			if err != nil {
				t.Errorf("%s: %v", controller, err)
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains("\n"+string(text), "\n"+strconv.Itoa(os.Getpid())+"\n") {
				t.Errorf("%s: %s does not have this process: %v", controller, path, err)
			}
		}
	}
}

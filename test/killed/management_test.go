package killed

import (
	"os"
	"strings"
	"testing"

	"nines.dev/nines/lab/login"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestDownAfterALabWithManagementWasKilled: at each kind of step, when it comes up and when it goes.
func TestDownAfterALabWithManagementWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedDnsmasq(t)
	labs.NeedSSHServer(t)
	text := labs.Pair("tbmcrash", "management: {}\n")
	c := New(t, text, strings.Replace(text, "management: {}\n", "", 1))
	c.FurtherKinds = true
	before := traces.Sysctls(t)
	_, was := os.Stat(login.SSHDFolder)
	gone := func(what string) {
		t.Helper()
		c.Gone(what)
		if _, is := os.Stat(login.SSHDFolder); (is == nil) != (was == nil) {
			t.Fatalf("%s: %s: %v, and before %v", what, login.SSHDFolder, is, was)
		}
	}
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
		if !killed && len(traces.Left(t, c.Prefix, c.StateDir)) < 8 {
			t.Fatal("the lab is up, and the check for what is left sees little of it")
		}
		c.Run(0, "down", "tbmcrash")
		gone("up killed at " + said)
	})
	c.Killed(1, []string{"up", c.Whole}, []string{"down", "tbmcrash"}, func(_ int, killed bool, said string) {
		if killed {
			c.Run(0, "down", "tbmcrash")
		}
		gone("down killed at " + said)
	})
	if labtest.Long() {
		c.Killed(1, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, _ bool, said string) {
			c.Run(0, "down", "tbmcrash")
			gone("apply killed at " + said)
		})
	}
	traces.SameSysctls(t, before)
}

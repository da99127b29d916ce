package killed

import (
	"os/exec"
	"testing"
	"time"

	"nines.dev/nines/lab"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestDownAfterUpOfAMachineWasKilled: up is killed before and while QEMU starts, and while the
// guest boots.
func TestDownAfterUpOfAMachineWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labs.NeedQEMU(t)
	const text = `
name: tbvmkill
topology:
  nodes:
    a: {}
    g: {runtime: vm, vm: {acceleration: tcg}}
  links:
    - {name: v, endpoints: ["a:v", "g:v"]}
    - {name: br, kind: bridge, endpoints: ["a:br", "g:br"]}
`
	c := New(t, text, text)
	c.FurtherKinds = true
	// Each second point: the others leave the same things behind.
	c.Killed(2, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbvmkill")
		c.Gone("up killed at " + said)
	})

	// While the guest boots, no fault point is reached.
	cmd := exec.Command(c.Nines, "up", c.Whole)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if made, err := lab.Open("tbvmkill"); err == nil && made.Running("g") != nil && made.Running("g").QEMU.Alive() {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	c.Run(0, "down", "tbvmkill")
	c.Gone("up killed while the guest boots")
}

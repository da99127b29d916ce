package killed

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// A lab with the section power, killed while it is made, and while nodes are switched.
func TestDownAfterUpOfALabWithPowerWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedLXC(t)
	password := labs.PasswordFile(t)
	text := named(wholeLab, "tbcrashpow") + fmt.Sprintf("power: {protocols: [ipmi, redfish], address: 127.77.6.1, user: admin, password_file: %s}\n", password)
	c := New(t, text, text)
	c.FurtherKinds = true
	c.Killed(10, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashpow")
		c.Gone("up of a lab with power killed at " + said)
	})
}

// A lab whose nodes are switched, killed meanwhile: doing it again finishes it, and nothing is left.
func TestDownAfterASwitchOfNodesWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	labs.NeedLXC(t)
	text := named(wholeLab, "tbcrashswi") + fmt.Sprintf("power: {protocols: [ipmi, redfish], address: 127.77.10.1, user: admin, password_file: %s}\n", labs.PasswordFile(t))
	for _, one := range []struct {
		action string
		before []string // is done to the nodes first
		off    bool     // how it leaves them
		every  int      // in the long form
	}{
		{"off", nil, true, 1},
		{"on", []string{"power", "tbcrashswi", "b", "c", "off"}, false, 1},
		{"soft", nil, true, 1},
		{"reset", nil, false, 5}, // it is a restart, whose points others kill
	} {
		if one.action == "reset" && !labtest.Long() {
			continue
		}
		t.Run(one.action, func(t *testing.T) {
			c := New(t, text, text)
			first, command := []string{"up", c.Whole}, []string{"power", "tbcrashswi", "b", "c", one.action}
			c.Before, c.FurtherKinds = one.before, true
			c.Killed(one.every, first, command, func(_ int, _ bool, said string) {
				c.Run(0, command...)
				for _, name := range []string{"b", "c"} {
					if _, said := c.Run(0, "power", "tbcrashswi", name, "status", "--format", "json"); strings.Contains(said, `"on": true`) == one.off {
						t.Errorf("power %s killed, and done again: node %s is %s", one.action, name, said)
					}
				}
				if one.off {
					c.Run(0, "power", "tbcrashswi", "b", "c", "on")
				}
				c.Run(0, "check", "tbcrashswi")
				c.Run(0, "down", "tbcrashswi")
				c.Gone("power " + one.action + " killed, and done again, " + said)
			})
		})
	}
}

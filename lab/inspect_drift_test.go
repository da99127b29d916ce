package lab

import (
	"strings"
	"testing"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// TestBesidePlan: what differs from the file is said, what the kernel or the experiment itself sets is not.
func TestBesidePlan(t *testing.T) {
	planned := plan.Interface{Name: "x", Link: "l", MAC: "02:00:00:00:00:01", MTU: 1500, Addresses: []string{"10.0.0.1/24", "fd00::1/64"}}
	now := link.Device{Name: "x", State: "up", MAC: "02:00:00:00:00:01", MTU: 1500, Addresses: []string{"fd00:0::1/64", "10.0.0.1/24", "fe80::1/64"}}
	for words, change := range map[string]func(*plan.Node, *link.Device){
		"":          func(*plan.Node, *link.Device) {},
		"x is down": func(_ *plan.Node, d *link.Device) { d.State = "down" },
		"x has the MTU 1400, and the file's is 1500":    func(_ *plan.Node, d *link.Device) { d.MTU = 1400 },
		"x has the MAC address 02:00:00:00:00:02":       func(_ *plan.Node, d *link.Device) { d.MAC = "02:00:00:00:00:02" },
		"x lacks 10.0.0.1/24":                           func(_ *plan.Node, d *link.Device) { d.Addresses = d.Addresses[:1] },
		"x 10.0.0.9/24 is not in the file":              func(_ *plan.Node, d *link.Device) { d.Addresses = append(d.Addresses, "10.0.0.9/24") },
		"x is gone, y is not in the file":               func(_ *plan.Node, d *link.Device) { d.Name = "y" },
		"x is gone":                                     func(n *plan.Node, d *link.Device) { d.Name, n.Exec = "y", [][]string{{"true"}} },
		"x lacks 10.0.0.1/24, 10.0.0.1/8 is not in the": func(_ *plan.Node, d *link.Device) { d.Addresses[1] = "10.0.0.1/8" },
	} {
		n, d := plan.Node{Name: "a", Runtime: "netns", Interfaces: []plan.Interface{planned}}, now
		d.Addresses = append([]string(nil), now.Addresses...)
		change(&n, &d)
		var said []string
		for _, s := range besidePlan(n, []link.Device{d}) {
			for _, drift := range s.Drift {
				said = append(said, s.Name+" "+drift)
			}
		}
		got := strings.ReplaceAll(strings.Join(said, ", "), ", x ", ", ")
		if words == "" && got != "" || !strings.HasPrefix(got, words) {
			t.Errorf("%q, and not %q", got, words)
		}
	}
}

package check

import (
	"testing"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

func TestCompareDevice(t *testing.T) {
	planned := plan.Interface{Name: "x", MTU: 1500, MAC: "02:00:00:00:00:01", Addresses: []string{"10.0.0.1/24", "fd00:0::1/64"}}
	good := link.Device{Name: "x", State: "up", MTU: 1500, MAC: "02:00:00:00:00:01", Addresses: []string{"fe80::1/64", "10.0.0.1/24", "fd00::1/64"}}
	with := func(change func(*link.Device)) *link.View {
		d := good
		change(&d)
		view := &link.View{}
		view.Add(link.Seen{Device: link.Device{Name: "y"}})
		view.Add(link.Seen{Device: d})
		return view
	}
	for _, c := range []struct {
		view     *link.View
		hardware bool
		want     string
		remedy   Remedy
	}{
		{with(func(*link.Device) {}), false, "", 0},
		{with(func(d *link.Device) { d.State = "unknown" }), false, "", 0},
		{with(func(d *link.Device) { d.State = "down" }), false, "is down", Reconfigure},
		{with(func(d *link.Device) { d.State = "down" }), true, "", 0},
		{with(func(d *link.Device) { d.Addresses = d.Addresses[:2] }), false, "has lost its address fd00:0::1/64", Reconfigure},
		{with(func(d *link.Device) { d.MTU = 9000 }), false, "has an MTU of 9000, and 1500 is planned", RemakeLink},
		{with(func(d *link.Device) { d.Name = "z" }), false, "is gone", RemakeLink},
	} {
		if got, remedy := compareDevice(planned, c.view.Find(planned.Name), c.hardware); got != c.want || remedy != c.remedy {
			t.Errorf("%+v: %q, %v, want %q, %v", c.view, got, remedy, c.want, c.remedy)
		}
	}
}

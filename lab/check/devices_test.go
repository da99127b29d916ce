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
		if got, remedy := compareDevice(planned, c.view.Find(planned.Name), c.hardware, false); got != c.want || remedy != c.remedy {
			t.Errorf("%+v: %q, %v, want %q, %v", c.view, got, remedy, c.want, c.remedy)
		}
	}
}

// TestReaddressed: where scripts may set addresses, others than planned are told, and are no fault.
func TestReaddressed(t *testing.T) {
	planned := plan.Interface{Name: "x", MTU: 1500, MAC: "02:00:00:00:00:01", Addresses: []string{"10.0.0.1/24"}}
	for _, c := range []struct {
		now  link.Device
		want string
	}{
		{link.Device{MAC: "02:00:00:00:00:01", Addresses: []string{"fe80::1/64", "10.0.0.1/24", "10.9.0.1/24"}}, ""},
		{link.Device{MAC: "02:00:00:00:00:09", Addresses: []string{"10.0.0.1/24"}}, "since its node's commands or scripts have run, dut:x has the MAC address 02:00:00:00:00:09 in place of 02:00:00:00:00:01"},
		{link.Device{MAC: "02:00:00:00:00:01", Addresses: []string{"fe80::1/64", "10.9.0.1/24"}}, "since its node's commands or scripts have run, dut:x has 10.9.0.1/24 in place of 10.0.0.1/24"},
		{link.Device{MAC: "02:00:00:00:00:09"}, "since its node's commands or scripts have run, dut:x has the MAC address 02:00:00:00:00:09 in place of 02:00:00:00:00:01, and no address in place of 10.0.0.1/24"},
	} {
		c.now.Name, c.now.State, c.now.MTU = "x", "up", 1500
		now, got := &link.Seen{Device: c.now}, ""
		for _, r := range readdressed("dut", planned, now) {
			got += r.String()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.now, got, c.want)
		}
		if fault, _ := compareDevice(planned, now, false, true); fault != "" {
			t.Errorf("%+v is a fault: %s", c.now, fault)
		}
	}
}

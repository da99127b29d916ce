package spec

import "testing"

// A trial that finds a maximum is counted once for all trials at a fraction of it.
func TestMeaningCountsMaxima(t *testing.T) {
	for sweep, want := range map[string]struct {
		trials, maxima int
		seconds        float64
	}{
		"":                                       {2, 1, 3 * 11.5},
		"traffic.rate_of_maximum: [0.1, 0.5, 1]": {6, 1, 7 * 11.5},
		"{traffic.burst: [1, 2], traffic.rate_of_maximum: [0.1, 0.5]}":                                              {8, 2, 10 * 11.5},
		"{load: {low: {traffic.rate_of_maximum: 0.1}, high: {traffic.rate_of_maximum: 0.9, traffic.duration: 1s}}}": {4, 2, 3*11.5 + 3*2.5},
	} {
		text := `{name: lab, topology: {nodes: {a: , b: }, links: [{endpoints: ["a:x", "b:x"]}]},
 traffic: {from: "a:x", to: "b:x", rate_of_maximum: 0.2}, repeat: 2`
		if sweep != "" {
			text += ", sweep: " + braced(sweep)
		}
		m, err := mustLoad(t, text+"}").Meaning()
		if err != nil {
			t.Fatal(err)
		}
		if m.Trials != want.trials || m.Maxima != want.maxima || m.TrialTimeSeconds != want.seconds {
			t.Errorf("%s: %d trials, %d maxima, %g s; want %+v", sweep, m.Trials, m.Maxima, m.TrialTimeSeconds, want)
		}
	}
}

func TestMeaningOfAManagementNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		", management: {}":                       "private, mac plan, dns",
		", management: {dns: false, mac: pos}":   "private, mac pos",
		", management: {ssh_keys: [/etc/k.pub]}": "private, mac plan, dns, keys of /etc/k.pub",
		", management: {subnet: 10.0.0.0/24}":    "private, 10.0.0.0/24, mac plan, dns",
		", management: {mode: shared, uplink: eth0, mac: pos}":                                "shared, on eth0, mac pos",
		", management: {mode: shared, uplink: br0, addresses: 10.0.0.5-10.0.0.9}":             "shared, on br0, 10.0.0.5-10.0.0.9, mac plan",
		", management: {mode: shared, uplink: br0, addresses: 10.0.0.5-10.0.0.5, dns: false}": "shared, on br0, 10.0.0.5-10.0.0.5, mac plan",
	} {
		m, err := mustLoad(t, "{name: lab, topology: {nodes: {a: }}"+text+"}").Meaning()
		if err != nil || m.Management != want {
			t.Errorf("%s: %q, %v; want %q", text, m.Management, err, want)
		}
	}
}

func braced(sweep string) string {
	if sweep[0] == '{' {
		return sweep
	}
	return "{" + sweep + "}"
}

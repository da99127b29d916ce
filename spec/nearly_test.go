package spec

import (
	"strings"
	"testing"
)

// TestWhatNearlyFitsIsNamed: a value that is only written otherwise is refused with the form that would do.
func TestWhatNearlyFitsIsNamed(t *testing.T) {
	const file = "name: a\ntopology: {nodes: {a: {}, b: {}}, links: [{endpoints: [\"a:x\", \"b:x\"]}]}\ntraffic: {from: \"a:x\", to: \"b:x\", duration: 1s}\n"
	for set, want := range map[string]string{
		"traffic.duration=5 s":       "; write 5s; allowed: 1ms to 24h, in h, m, s, ms, us, ns",
		"traffic.duration=5sec":      "; write 5s;",
		"traffic.duration=2 Minutes": "; write 2m;",
		"traffic.duration=1,5s":      "; write 1.5s;",
		"traffic.duration=250μs":     "; write 250us;",
		"traffic.duration=soon":      "such as 10s, 1.5ms or 250us; allowed: 1ms to 24h, in",
		"nodes.a.memory=64mib":       "; write 64MiB;",
		"nodes.a.memory=64m":         "; write 64MB or 64MiB;",
		"nodes.a.memory=64Mi":        "; write 64MiB;",
		"traffic.rate_bits=1Gbit":    "; write 1Gbit/s;",
		"traffic.rate_bits=100M":     "; write 100Mbit/s;",
		"traffic.rate_bits=1gbps":    "; write 1Gbit/s;",
		"traffic.rate_pps=1,000":     "; write 1000;",
		"traffic.rate_pps=\"1000\"":  "; write it without quotes;",
		"traffic.rate_pps=100 kpps":  "; write 100k;",
		"traffic.rate_pps=1000pps":   "; write 1000;",
		"traffic.frame_bytes=64B":    "; write 64;",
		"traffic.frame_bytes=64.5 B": "must be a whole number, not \"64.5 B\"; allowed:",
		"links.0.impair={loss: 1%}":  "; write 0.01;",
		"trace=yes":                  "; write true;",
		"trace=off":                  "; write false;",
		"traffic.frame_bytes=many":   "must be a whole number, not \"many\"; allowed:",
	} {
		f, err := Load("a.yaml", []byte(file))
		if err == nil {
			err = f.Set(set)
		}
		if err == nil {
			_, err = f.Runs()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", set, err, want)
		}
	}
}

// TestOwnKeysHoldAnchors: nines does not read keys that begin with x-.
func TestOwnKeysHoldAnchors(t *testing.T) {
	f, err := Load("a.yaml", []byte("x-node: &n {runtime: netns}\nname: a\nx-more: [1, 2]\ntopology: {nodes: {a: *n, b: {<<: *n}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Runs(); err != nil {
		t.Error(err)
	}
	if f, err = Load("a.yaml", []byte("name: a\ntopology: {x-node: {}, nodes: {a: }}\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Runs(); err == nil || !strings.Contains(err.Error(), `unknown key`) {
		t.Errorf("within a section: %v", err)
	}
}

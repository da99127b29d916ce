package terminal

import "testing"

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"veth", "veth", 0}, {"veth", "vteh", 1}, {"veth", "vet", 1}, {"bridge", "brigde", 1},
		{"", "abc", 3}, {"kitten", "sitting", 3},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d; want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	if got := Nearest("c:z", []string{"a:x", "b:y"}); got != "" {
		t.Errorf(`"c:z" is taken for %q, of which it has no letter`, got)
	}
	if got := Nearest("a:z", []string{"b:y", "a:x"}); got != "a:x" {
		t.Errorf(`"a:z": %q; want "a:x"`, got)
	}
	if got := Nearest("a-long-node:eth0", []string{"the-long-code:eth1"}); got != "" {
		t.Errorf("a word of many differences is taken for %q", got)
	}
	keys := []string{"rate_pps", "rate_bits", "pattern", "io"}
	for word, want := range map[string]string{
		"rate_pp": "rate_pps", "ratebits": "rate_bits", "PATTERN": "pattern", "colour": "", "oi": "io", "x": "",
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("%q: %q; want %q", word, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	for word, want := range map[string]string{
		"dot":   `did you mean "dut"? its nodes: loadgen, dut`,
		"other": "its nodes: loadgen, dut",
	} {
		if got := Choose(word, "its nodes:", []string{"loadgen", "dut"}); got != want {
			t.Errorf("%q: %s; want %s", word, got, want)
		}
	}
}

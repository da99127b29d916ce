package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/test/plans"
)

// TestThePlanSaysWhatProgramsMay names the keys that widen or narrow a node's rights, what they give away, and the
// nodes that are no wall.
func TestThePlanSaysWhatProgramsMay(t *testing.T) {
	for _, c := range []struct {
		nodes string
		says  []string
		lacks string
	}{
		{"a: {runtime: netns}", []string{"netns node a is no wall"}, "is allowed"},
		{"a: {runtime: netns}, b: {}", []string{"netns nodes a, b are no wall"}, ""},
		{"a: {}, b: {}, c: {}, d: {}, e: {}", []string{"5 netns nodes are no wall"}, ""},
		{"a: {runtime: lxc}", nil, "no wall"},
		{"a: {runtime: lxc, allow: [perf, bpf, perf], no_new_privileges: true}",
			[]string{"lxc (allow bpf, allow perf, no new privileges)", "perf is allowed, as the file asks", "bpf is allowed, as the file asks"}, "no wall"},
	} {
		var text bytes.Buffer
		if err := plans.Of(t, "name: rights\ntopology: {nodes: {"+c.nodes+"}}\n").Write(&text); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: the plan lacks %q:\n%s", c.nodes, want, text.String())
			}
		}
		if c.lacks != "" && strings.Contains(text.String(), c.lacks) {
			t.Errorf("%s: the plan says %q:\n%s", c.nodes, c.lacks, text.String())
		}
	}
}

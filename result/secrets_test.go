package result

import (
	"errors"
	"strings"
	"testing"
)

// TestSecretsAreNotPassedOn: what the page and the exports show of an experiment has no value of
// env or variables, however the file writes it down.
func TestSecretsAreNotPassedOn(t *testing.T) {
	for name, test := range map[string]struct{ text, kept string }{
		"plain":     {"topology:\n  nodes:\n    a: {env: {TOKEN: hush}, cpus: 1} # a comment\n", "a comment"},
		"quoted":    {"nodes:\n  a:\n    env:\n      TOKEN: \"hu\\x73h, hush\"\n", "TOKEN"},
		"lines":     {"nodes:\n  a:\n    env:\n      TOKEN: |\n        hush\n        hush\n    cpus: 1\n", "cpus: 1"},
		"an alias":  {"x: &secret hush\nnodes: {a: {env: {TOKEN: *secret}}}\n", "TOKEN"},
		"a merge":   {"x: &all {TOKEN: hush}\nnodes: {a: {env: {<<: *all, B: hush}}}\n", "TOKEN"},
		"variables": {"nodes: {a: {variables: {password: hush}}}\nvariables: {token: hush}\nsweep: {variables.rate: [1000]}\n", "variables.rate: [1000]"},
		"all nodes": {"nodes: {a: &a {env: {TOKEN: hush}}, b: *a, c: {<<: *a, cpus: 3}}\n", "cpus: 3"},
	} {
		if got := withoutSecrets([]byte(test.text)); strings.Contains(got, "hush") || !strings.Contains(got, test.kept) || !strings.Contains(got, hidden) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, text := range []string{"name: x   # as it is\n", "", "nodes: {a: {app: {kind: environment}}}\n", "no: [yaml"} {
		if got := withoutSecrets([]byte(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	w, err := Reopen(writeAll(t, t.TempDir()).Dir())
	if err != nil {
		t.Fatal(err)
	}
	plan := []any{map[string]any{"nodes": []any{map[string]any{"name": "a", "env": map[string]string{"TOKEN": "hush"}, "bytes": int64(1)<<60 + 1}}}}
	if err := errors.Join(w.WriteExperiment([]byte("nodes: {a: {env: {TOKEN: hush}}}\n"), ""), w.WritePlan(plan)); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, w.Dir())
	shown, err := r.Plan()
	if err != nil || strings.Contains(string(shown), "hush") || !strings.Contains(string(shown), "TOKEN") || !strings.Contains(string(shown), "1152921504606846977") {
		t.Errorf("the plan is shown as %s (%v)", shown, err)
	}
	if text, err := r.Experiment(); err != nil || strings.Contains(text, "hush") {
		t.Errorf("the experiment is shown as %s (%v)", text, err)
	}
	if same, err := w.SamePlans(plan); err != nil || !same {
		t.Errorf("a resume takes the plan for another: %v (%v)", same, err)
	}
}

package script

import (
	"strings"
	"testing"

	"nines.dev/nines/script/wire"
)

func fileVariables() *Variables {
	return NewVariables(
		map[string]string{"rate": "1000", "git/repo": "moongen", "both": "global"},
		map[string]map[string]string{"a": {"both": "own", "hostless": "1"}},
		map[string]string{"rate": "1000", "traffic.frame_bytes": "64"},
	)
}

func TestVariablesAreFoundInTheirScopes(t *testing.T) {
	v := fileVariables().Trial(nil)
	for _, test := range []struct {
		node, key string
		scope     wire.Scope
		value     string // empty: an error
	}{
		{"a", "both", wire.ScopeNode, "own"},
		{"b", "both", wire.ScopeNode, "global"},
		{"a", "both", wire.ScopeGlobal, "global"},
		{"a", "both", wire.ScopeLoop, ""},
		{"a", "git/repo", wire.ScopeNode, "moongen"},
		{"a", "rate", wire.ScopeLoop, "1000"},
		{"a", "traffic.frame_bytes", wire.ScopeLoop, "64"},
		{"a", "hostname", wire.ScopeNode, "a"},
		{"a", "hostname", wire.ScopeGlobal, ""},
		{"b", "hostless", wire.ScopeNode, ""},
		{"a", "none", wire.ScopeNode, ""},
	} {
		value, err := v.Get(test.node, test.key, test.scope)
		if value != test.value || (err == nil) != (test.value != "") {
			t.Errorf("%s of %s in %q = %q, %v; want %q", test.key, test.node, test.scope, value, err, test.value)
		}
	}
}

// TestSweptVariablesAreTheTrials: a lab's setup is the same for all trials on it.
func TestSweptVariablesAreTheTrials(t *testing.T) {
	setup := fileVariables().Outside()
	for _, scope := range []wire.Scope{wire.ScopeNode, wire.ScopeGlobal, wire.ScopeLoop} {
		if value, err := setup.Get("a", "rate", scope); err == nil || !strings.Contains(err.Error(), "the sweep varies") {
			t.Errorf("a setup script sees rate %q in %q: %v", value, scope, err)
		}
	}
	if _, known := setup.Values().Global["rate"]; known {
		t.Error("the setup's values have what the sweep varies")
	}
	if value, err := fileVariables().Trial(setup).Get("a", "rate", wire.ScopeNode); value != "1000" {
		t.Errorf("a trial sees rate %q, %v", value, err)
	}
}

// TestWhatTheSweepVariesIsNotSet, neither by a trial nor by the setup before it: the result would have
// another value than the scripts.
func TestWhatTheSweepVariesIsNotSet(t *testing.T) {
	for when, v := range map[string]*Variables{"trial": fileVariables().Trial(nil), "setup": fileVariables().Outside()} {
		for _, scope := range []wire.Scope{wire.ScopeNode, wire.ScopeGlobal, wire.ScopeLoop} {
			if err := v.Set("a", "rate", "5", scope); err == nil || !strings.Contains(err.Error(), "is varied by the sweep and cannot be set") {
				t.Errorf("a %s script sets rate in %q: %v", when, scope, err)
			}
		}
	}
}

// TestVariablesOfANodeAreSwept: for that node, and for no other.
func TestVariablesOfANodeAreSwept(t *testing.T) {
	v := fileVariables()
	v.nodes = map[string]map[string]string{"a": {"size": "64"}, "b": {"size": "128"}}
	v.global = map[string]string{"size": "1500"}
	v.SweepNodes(map[string]map[string]bool{"a": {"size": true}})
	trial, setup := v.Trial(v.Outside()), v.Outside()
	for _, c := range []struct {
		v     *Variables
		node  string
		scope wire.Scope
		want  string // "" : the sweep hides it, "-": it is not swept
	}{
		{trial, "a", wire.ScopeLoop, "64"}, {trial, "a", wire.ScopeNode, "64"}, {trial, "a", wire.ScopeGlobal, "1500"},
		{trial, "b", wire.ScopeLoop, "-"}, {trial, "b", wire.ScopeNode, "128"},
		{setup, "a", wire.ScopeLoop, ""}, {setup, "a", wire.ScopeNode, ""}, {setup, "a", wire.ScopeGlobal, "1500"},
		{setup, "b", wire.ScopeNode, "128"},
	} {
		got, err := c.v.Get(c.node, "size", c.scope)
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "the sweep varies")),
			c.want == "-" && (err == nil || !strings.Contains(err.Error(), "nodes.b.variables.size")),
			len(c.want) > 1 && (got != c.want || err != nil):
			t.Errorf("%s sees size %q in %q, %v; want %q", c.node, got, c.scope, err, c.want)
		}
	}
	for name, v := range map[string]*Variables{"trial": trial, "setup": setup} {
		if err := v.Set("a", "size", "9", wire.ScopeNode); err == nil || !strings.Contains(err.Error(), "is varied by the sweep") {
			t.Errorf("a %s script sets it: %v", name, err)
		}
		if err := v.Set("b", "size", "9", wire.ScopeNode); err != nil {
			t.Errorf("a %s script sets that of another node: %v", name, err)
		}
	}
}

// TestTrialsForgetWhatTheySet, and keep what the setup has set.
func TestTrialsForgetWhatTheySet(t *testing.T) {
	setup := fileVariables().Outside()
	set := func(v *Variables, node, key, value string, scope wire.Scope) {
		t.Helper()
		if err := v.Set(node, key, value, scope); err != nil {
			t.Fatal(err)
		}
	}
	set(setup, "a", "commit", "f00", wire.ScopeNode)
	set(setup, "a", "both", "set", wire.ScopeGlobal)
	first := fileVariables().Trial(setup)
	set(first, "a", "commit", "changed", wire.ScopeNode)
	set(first, "b", "port", "7", wire.ScopeGlobal)
	second := fileVariables().Trial(setup)
	for _, test := range []struct {
		of                *Variables
		node, key, wanted string
	}{
		{first, "a", "commit", "changed"}, {first, "a", "port", "7"}, {second, "a", "commit", "f00"}, {second, "b", "both", "set"}, {second, "a", "both", "own"},
	} {
		if value, err := test.of.Get(test.node, test.key, wire.ScopeNode); value != test.wanted {
			t.Errorf("%s of %s = %q, %v; want %q", test.key, test.node, value, err, test.wanted)
		}
	}
	if value, err := second.Get("a", "port", wire.ScopeNode); err == nil {
		t.Errorf("a trial sees what another has set: %q", value)
	}
	if got := first.Values(); got.Nodes["a"]["commit"] != "changed" || got.Global["port"] != "7" || got.Loop["rate"] != "1000" {
		t.Errorf("the trial's values are %+v", got)
	}
}

func TestWrongVariablesAreRefused(t *testing.T) {
	v := fileVariables().Trial(nil)
	for name, err := range map[string]error{
		"a key with a space": v.Set("a", "a b", "1", wire.ScopeNode),
		"an empty key":       v.Set("a", "", "1", wire.ScopeNode),
		"a long value":       v.Set("a", "a", strings.Repeat("x", longestValue+1), wire.ScopeNode),
		"no text":            v.Set("a", "a", "\x00", wire.ScopeGlobal),
		"a swept one":        v.Set("a", "rate", "1", wire.ScopeLoop),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestLoopVariablesOfScripts are for all nodes, beside the swept ones, and forgotten with their trial.
func TestLoopVariablesOfScripts(t *testing.T) {
	v := fileVariables().Trial(nil)
	if err := v.Set("a", "chosen", "7", wire.ScopeLoop); err != nil {
		t.Fatal(err)
	}
	if value, err := v.Get("b", "chosen", wire.ScopeLoop); value != "7" {
		t.Errorf("another node sees %q, %v", value, err)
	}
	for _, scope := range []wire.Scope{wire.ScopeNode, wire.ScopeGlobal} {
		if value, err := v.Get("a", "chosen", scope); err == nil {
			t.Errorf("it is %q in %q", value, scope)
		}
	}
	if got := v.Values().Loop; got["chosen"] != "7" || got["rate"] != "1000" {
		t.Errorf("the trial's values are %v", got)
	}
	if value, err := fileVariables().Trial(nil).Get("a", "chosen", wire.ScopeLoop); err == nil {
		t.Errorf("the next trial sees %q", value)
	}
}

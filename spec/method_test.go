package spec

import (
	"fmt"
	"strings"
	"testing"
)

// methodFile is a file with a method, further traffic keys, and further lines.
func methodFile(method, traffic, more string) string {
	return fmt.Sprintf(`{name: lab, topology: {nodes: {a: , b: }, links: [{endpoints: ["a:x", "b:x"]}]},
 traffic: {from: "a:x", to: "b:x"%s}, method: %s%s}`, traffic, method, more)
}

// The method rfc2544, and no other, runs all frame sizes of RFC 2544 where the file neither gives
// nor sweeps one; the size is the last key of the sweep.
func TestStandardFrameSizes(t *testing.T) {
	for name, test := range map[string]struct {
		text        string
		runs        int
		first, last string
	}{
		"none given":    {methodFile("{kind: rfc2544}", "", ""), 7, "traffic.frame_bytes=64", "traffic.frame_bytes=1518"},
		"given":         {methodFile("{kind: rfc2544}", ", frame_bytes: 128", ""), 1, "", ""},
		"swept":         {methodFile("{kind: rfc2544}", "", ", sweep: {traffic.frame_bytes: [64, 9018]}"), 2, "traffic.frame_bytes=64", "traffic.frame_bytes=9018"},
		"others swept":  {methodFile("{kind: rfc2544}", "", ", sweep: {links.*.kind: [veth, bridge]}"), 14, "links.*.kind=veth, traffic.frame_bytes=64", "links.*.kind=bridge, traffic.frame_bytes=1518"},
		"by a case":     {methodFile("{kind: tst009}", "", ", sweep: {how: {a: {method.kind: rfc2544}, b: {}}}"), 14, "how=a, traffic.frame_bytes=64", "how=b, traffic.frame_bytes=1518"},
		"whole method":  {methodFile("{kind: tst009}", "", ", sweep: {method: [{kind: rfc2544}]}"), 7, "", ""},
		"cases have it": {methodFile("{kind: rfc2544}", "", ", sweep: {size: {small: {traffic.frame_bytes: 64}, large: {traffic.frame_bytes: 1518}}}"), 2, "size=small", "size=large"},
		"other method":  {methodFile("{kind: mlrsearch}", "", ""), 1, "", ""},
	} {
		runs, err := mustLoad(t, test.text).Runs()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(runs) != test.runs {
			t.Errorf("%s: %d runs, want %d", name, len(runs), test.runs)
		}
		if got := runs[0].String(); test.first != "" && got != test.first {
			t.Errorf("%s: the first run is %q, want %q", name, got, test.first)
		}
		if got := runs[len(runs)-1].String(); test.last != "" && got != test.last {
			t.Errorf("%s: the last run is %q, want %q", name, got, test.last)
		}
	}
	f := mustLoad(t, methodFile("{kind: rfc2544}", "", ""))
	if err := f.Set("traffic.frame_bytes=256"); err != nil {
		t.Fatal(err)
	}
	if runs, err := f.Runs(); err != nil || len(runs) != 1 {
		t.Errorf("with --set: %d runs (%v)", len(runs), err)
	}
}

// A preset's name alone is the same goal as a mapping with that name.
func TestGoalsAsText(t *testing.T) {
	e, err := mustLoad(t, methodFile("{kind: mlrsearch, goals: [ndr, {name: pdr}, {name: mine, loss_ratio: 0}]}", "", "")).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"ndr", "pdr", "mine"} {
		if e.Method.Goals[i].Name != name {
			t.Errorf("goal %d is %+v", i, e.Method.Goals[i])
		}
	}
	if e.Method.Goals[2].LossRatio == nil || *e.Method.Goals[2].LossRatio != 0 {
		t.Error("a loss ratio of 0 is not the same as none")
	}
}

// TestZeroIsNotUnset: where a default is not 0, 0 can be asked for.
func TestZeroIsNotUnset(t *testing.T) {
	e, err := mustLoad(t, methodFile("{kind: tst009, retries: 0, loss_ratio: 0}", "", "")).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Method; m.Retries == nil || *m.Retries != 0 || m.LossRatio == nil || *m.LossRatio != 0 {
		t.Errorf("retries %v, loss_ratio %v: 0 is not the same as none", m.Retries, m.LossRatio)
	}
	if e, err = mustLoad(t, methodFile("{kind: tst009}", "", "")).Experiment(); err != nil || e.Method.Retries != nil || e.Method.LossRatio != nil {
		t.Errorf("unset: %+v, %v", e.Method, err)
	}
}

func TestMeaningCountsSearches(t *testing.T) {
	m, err := mustLoad(t, methodFile("{kind: rfc2544}", "", ", repeat: 3")).Meaning()
	if err != nil {
		t.Fatal(err)
	}
	if m.Searches != 21 || m.Trials != 0 || m.Method != MethodRFC2544 || !strings.Contains(m.Traffic, "that rfc2544 finds") {
		t.Errorf("%+v", m)
	}
}

// Plain, Search and SeeksRate of each method.
func TestMethodsAreTold(t *testing.T) {
	for kind, want := range map[MethodKind][3]bool{ // plain, search, seeks a rate
		"": {true, false, false}, MethodSweep: {true, false, false}, MethodSoak: {false, false, false},
		MethodY1564: {false, true, false}, MethodMLRsearch: {false, true, true}, MethodRFC2544: {false, true, true},
		MethodRFC8219: {false, true, true}, MethodTST009: {false, true, true},
	} {
		m := &Method{Kind: kind}
		if got := [3]bool{m.Plain(), m.Search(), m.SeeksRate()}; got != want {
			t.Errorf("%q is plain, a search, seeks a rate: %v, want %v", kind, got, want)
		}
	}
	var none *Method
	if !none.Plain() || none.Search() || none.SeeksRate() {
		t.Error("no method is not a sweep")
	}
}

package spec

import (
	"path/filepath"
	"strings"
	"testing"
)

const expecting = `name: lab
topology:
  nodes: {a: , b: }
  links: [{name: w, endpoints: ["a:x", "b:x"]}]
traffic: {from: "a:x", to: "b:x", rate_pps: 1000}
reference: ../base
expect:
  - 'p99 <= 1.1 * reference.p99'
`

func TestExpectationsHaveTheirPlace(t *testing.T) {
	f := mustLoad(t, expecting)
	f.UseOrigin("/lab/files/lab.yaml")
	if err := f.AddExpectation("--expect", "loss == 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Runs(); err != nil {
		t.Fatal(err)
	}
	all := f.Expectations()
	if len(all) != 2 || all[0].Line != 8 || all[0].Column != 5 || all[1].Text != "loss == 0" || all[1].Line != 0 {
		t.Errorf("%+v", all)
	}
	if got := f.References(); len(got) != 1 || got[0] != "/lab/base" {
		t.Errorf("%v", got)
	}
	effective, err := f.Effective()
	if err != nil || !strings.Contains(string(effective), `- "loss == 0"`) {
		t.Errorf("%v: %s", err, effective)
	}
	f.UseReferences([]string{"here"})
	if here, err := filepath.Abs("here"); err != nil || f.References()[0] != here {
		t.Errorf("%v, %v", f.References(), err)
	}
	if err := f.AddExpectation("--expect", "p99 < 1"); err == nil || !strings.Contains(err.Error(), "--expect p99 < 1: a time needs a unit (column 7)") {
		t.Errorf("%v", err)
	}
}

// A duet asks for what is expected of its sides, in place of the default.
func TestADuetAsksWhatIsExpected(t *testing.T) {
	f := mustLoad(t, strings.ReplaceAll(expecting, "reference: ../base\n", "duet: {a: {links.w.kind: veth}, b: {links.w.kind: bridge}}\n"))
	for _, set := range []string{"expect=[b.p99 <= 1.05 * a.p99, b.undisturbed.p99.9 < a.undisturbed.p99.9, b.lost == 0, a.loss == 0]"} {
		if err := f.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	e, err := f.Experiment()
	if err != nil || strings.Join(e.Duet.Ask, ", ") != "p99, undisturbed p99.9" || len(e.Duet.Expect) != 4 {
		t.Errorf("%v: %+v", err, e)
	}
}

package request

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestParseReadsLimitsTargetAndTiers(t *testing.T) {
	for text, want := range map[string]string{
		"p99.99 < 100us":                         "p99.99 < 100us",
		" p99.990<0.1ms ":                        "p99.99 < 100us",
		"p99.99 <= 100µs, p50 ≤ 20 μs":           "p99.99 <= 100us, p50 <= 20us",
		"p99 < 1s":                               "p99 < 1s",
		"p99 < 1500ns":                           "p99 < 1500ns",
		"p99 < 100us else p99 < 1ms else any":    "p99 < 100us else p99 < 1ms else any",
		"p99 < 100us; to: n3":                    "p99 < 100us; to: n3",
		"p99 < 100us; to: rack=r1,zone in (a,b)": "p99 < 100us; to: rack=r1,zone in (a,b)",
		"p99 < 100us; to: n1, n2":                "p99 < 100us; to: n1, n2",
		"p99 < 100us; to: n1,n2":                 "p99 < 100us; to: n1,n2",
		"p99 < 100us; tier: sriov, ovs-dpdk; to: n3.example.org": "p99 < 100us; to: n3.example.org; tier: sriov, ovs-dpdk",
	} {
		r, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if r.String() != want {
			t.Errorf("%q is read as %q, want %q", text, r, want)
		}
		if again, err := Parse(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%q is not read again as itself: %v, %v", r, again, err)
		}
	}
}

func TestParseRefusesWithARemedy(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "is not a limit",
		"fast":                      `"fast" is not a limit; write a percentile`,
		"p99.99 > 100us":            "is not a limit",
		"p99.99 < 100":              "ns, us, ms or s",
		"p100 < 1ms":                "is not a limit",
		"p0 < 1ms":                  "above 0 and below 100",
		"p99 < 0us":                 "from 1ns to 60s",
		"p99 < 61s":                 "from 1ns to 60s",
		"p99 < 1ms, p99 < 2ms":      "two limits",
		"p99.0 < 1ms, p99 < 2ms":    "two limits",
		"any":                       "requests nothing",
		"p99 < 1ms else any else p": "remove what follows",
		"p99 < 1ms; to:":            "has no value",
		"p99 < 1ms; to: a; to: b":   "twice",
		"p99 < 1ms; rate: 5":        "after a semicolon",
		"p99 < 1ms; tier: SR-IOV":   "not the name of a tier",
		"p99 < 1ms; to: Node One":   "neither the names of nodes nor a selector",
		"p99 < 1ms; to: n1, a=b":    "list nodes, or select them by labels",
		strings.Repeat("p", 2049):   "at most 2048",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// The thesis's pod.yaml has "100", which ended its scheduler; 800, 5000 and 10000 are its own
// constants, which its strict comparisons refused.
func TestParseThesisTakesItsOwnNumbers(t *testing.T) {
	for _, text := range []string{"100", "800", "5000", "10000", " 801 "} {
		r, err := ParseThesis(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if limit := r.Alternatives[0][0]; !limit.Holds(r.ThesisUs*1000) || limit.Holds(r.ThesisUs*1000+1) {
			t.Errorf("%q: limit %v does not end at itself, included", text, limit)
		}
	}
	for _, text := range []string{"", "0", "-5", "1e3", "100us", "99999999999999999999"} {
		if _, err := ParseThesis(text); err == nil || !strings.Contains(err.Error(), "microseconds") {
			t.Errorf("%q: error %v, want one that names microseconds", text, err)
		}
	}
}

func TestOfReadsAPodsAnnotations(t *testing.T) {
	for _, c := range []struct {
		annotations map[string]string
		want, error string
		ports       int
	}{
		{},
		{annotations: map[string]string{"other": "100"}},
		{annotations: map[string]string{Annotation: "p50 < 1ms"}, want: "p50 < 1ms"},
		{annotations: map[string]string{ThesisAnnotation: "800"}, want: "p99 <= 800us", ports: 1},
		{annotations: map[string]string{ThesisAnnotation: "800", PortsAnnotation: "2"}, want: "p99 <= 800us", ports: 2},
		{annotations: map[string]string{ThesisAnnotation: "800", PortsAnnotation: "0"}, error: PortsAnnotation},
		{annotations: map[string]string{ThesisAnnotation: "fast"}, error: "annotation latency"},
		{annotations: map[string]string{Annotation: "fast"}, error: "annotation nines.dev/latency"},
		{annotations: map[string]string{Annotation: "p50 < 1ms", ThesisAnnotation: "800"}, error: "remove one"},
	} {
		r, err := Of(c.annotations)
		switch {
		case c.error != "":
			if err == nil || !strings.Contains(err.Error(), c.error) {
				t.Errorf("%v: error %v, want one with %q", c.annotations, err, c.error)
			}
		case err != nil:
			t.Errorf("%v: %v", c.annotations, err)
		case c.want == "":
			if r != nil {
				t.Errorf("%v: has a latency request %v", c.annotations, r)
			}
		case r.String() != c.want || r.Ports != c.ports:
			t.Errorf("%v: is %q with %d ports, want %q with %d", c.annotations, r, r.Ports, c.want, c.ports)
		}
	}
}

func TestTargetMatchesByNameOrLabels(t *testing.T) {
	r, err := Parse("p50 < 1ms; to: rack=r1")
	if err != nil {
		t.Fatal(err)
	}
	if !r.To.Matches("n1", labels.Set{"rack": "r1"}) || r.To.Matches("rack", labels.Set{"rack": "r2"}) {
		t.Error("a selector does not match by labels alone")
	}
	if r, err = Parse("p50 < 1ms; to: rack"); err != nil {
		t.Fatal(err)
	}
	if !r.To.Matches("rack", nil) || r.To.Matches("n1", labels.Set{"rack": "r1"}) {
		t.Error("a node's name does not match by the name alone")
	}
}

// TestAListOfNodes names each of them, with a space or without: it is no selector of labels.
func TestAListOfNodes(t *testing.T) {
	for _, text := range []string{"p50 < 1ms; to: n1, n2", "p50 < 1ms; to: n1,n2"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !r.To.Matches("n1", nil) || !r.To.Matches("n2", nil) || r.To.Matches("n3", labels.Set{"n1": "", "n2": ""}) {
			t.Errorf("%q matches others than n1 and n2", text)
		}
	}
}

// TestAKeyWithATypo: an annotation that nobody reads is no request, so it is refused.
func TestAKeyWithATypo(t *testing.T) {
	for key, words := range map[string]string{
		"nines.dev/latncy": "did you mean nines.dev/latency", "nines.dev/Latency": "did you mean nines.dev/latency", "nine.dev/latency": "did you mean nines.dev/latency",
		"nines.dev/whatever": "allowed: nines.dev/latency", "nines.dev/isolaton": "did you mean nines.dev/isolation",
	} {
		if err := Unknown(map[string]string{key: "x"}); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range append(Keys(), ThesisAnnotation, "example.org/latency", "k8s.v1.cni.cncf.io/networks") {
		if err := Unknown(map[string]string{key: "x"}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestWhatAPodIsAnnotatedWith: each text is read again as the same request.
func TestWhatAPodIsAnnotatedWith(t *testing.T) {
	for text, name := range map[string]string{"p99 < 1ms; to: n1": Annotation, "800": ThesisAnnotation, " 5000 ": ThesisAnnotation} {
		annotations, err := Annotations(text)
		if err != nil || len(annotations) != 1 || annotations[name] != text {
			t.Errorf("%q: %v, %v", text, annotations, err)
		}
		if r, err := Of(annotations); err != nil || r == nil || (r.ThesisUs > 0) != (name == ThesisAnnotation) {
			t.Errorf("%q is read as %+v, %v", text, r, err)
		}
	}
	for text, words := range map[string]string{"0": "whole number of microseconds", "-800": "whole number of microseconds", "800us": "", "fast": "", "": ""} {
		if annotations, err := Annotations(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, %v", text, annotations, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"p99.99 < 100us", "p99 < 1ms else any; to: a=b; tier: x", "p99<=1.5µs,p50<2s", ";;", "else else"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(r.String())
		if err != nil {
			t.Fatalf("%q is read as %q, which is not read: %v", text, r, err)
		}
		if again.String() != r.String() {
			t.Fatalf("%q is read as %q, and that as %q", text, r, again)
		}
	})
}

package spec

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// suggested are the texts of what is suggested.
func suggested(t *testing.T, f *File, said string) []string {
	t.Helper()
	list, err := Suggest(f, said)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, one.Text)
		if strings.ContainsFunc(one.Text+one.Doc, unicode.IsControl) {
			t.Errorf("%q: %q is no single line", said, one)
		}
	}
	return texts
}

func TestSuggest(t *testing.T) {
	const swept = setLab + "  mode: {slow: {traffic.burst: 1}, fast: {traffic.burst: 9}}\n"
	for said, want := range map[string]string{
		"":                         "topology. traffic. links. sweep. mode= repeat=",
		"traffic.ra":               "traffic.rate_pps= traffic.rate_bits=",
		"links.":                   "links.in. links.link2. links.*.",
		"topology.nodes.":          "topology.nodes.a. topology.nodes.b. topology.nodes.*.",
		"links.*.ki":               "links.*.kind=",
		"links.*.kind=":            "links.*.kind=veth links.*.kind=xdp",
		"nodes.b.runtime=":         "nodes.b.runtime=netns nodes.b.runtime=lxc",
		"nodes.b.app.":             "nodes.b.app.kind= nodes.b.app.wait=",
		"nodes.a.env.":             "nodes.a.env.X=",
		`nodes.a.addresses."eth0.`: "",
		"nodes.a.addresses.":       `nodes.a.addresses."eth0.1"=`,
		"trace=":                   "trace=true trace=false",
		"mode=":                    "mode=slow mode=fast",
		"sweep.links.*.":           "sweep.links.*.kind= sweep.links.*.mtu=",
		"traffic.nothing.":         "",
		"traffic.rate_pps=":        "",
		"nodes.zzz.runtime=":       "nodes.zzz.runtime=vm",
		"method.kind=":             "method.kind=rfc2544",
	} {
		texts := suggested(t, mustLoad(t, swept), said)
		for one := range strings.FieldsSeq(want) {
			if !slices.Contains(texts, one) {
				t.Errorf("%q: %q lacks %q", said, texts, one)
			}
		}
		if want == "" && len(texts) > 0 {
			t.Errorf("%q: %q, want nothing", said, texts)
		}
	}
}

// TestSuggestKnowsAllKeys: without a file, too, and each has a meaning.
func TestSuggestKnowsAllKeys(t *testing.T) {
	if texts := suggested(t, nil, "links."); !slices.Equal(texts, []string{"links.*."}) {
		t.Errorf("without a file: %q", texts)
	}
	seen := map[string]bool{}
	var walk func(said string, depth int)
	walk = func(said string, depth int) {
		list, err := Suggest(nil, said)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			seen[one.Text] = true
			if one.Doc == "" {
				t.Errorf("%s has no meaning", one.Text)
			}
			if strings.HasSuffix(one.Text, ".") && depth > 0 && !strings.HasPrefix(one.Text, "sweep.") {
				walk(one.Text, depth-1)
			}
		}
	}
	walk("", 4)
	if len(seen) < 100 {
		t.Errorf("only %d keys", len(seen))
	}
	// What is suggested is what --set takes.
	for text := range seen {
		if path, is := strings.CutSuffix(text, "="); is && !strings.HasPrefix(text, "sweep.") {
			if _, wrong := resolve(mustLoad(t, setLab).root, path); wrong != nil && strings.Contains(wrong.problem, "unknown key") {
				t.Errorf("%s is no key: %s", path, wrong.problem)
			}
		}
	}
}

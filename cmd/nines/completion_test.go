package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/plans"
)

// offered is what a shell gets for a call whose last word is being typed, without what each means.
func offered(t *testing.T, words ...string) (texts []string, directive string) {
	t.Helper()
	code, out, _ := call(append([]string{cobra.ShellCompRequestCmd}, words...)...)
	if code != 0 {
		t.Fatalf("%q: exit code %d", words, code)
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		text, _, _ := strings.Cut(line, "\t")
		texts = append(texts, text)
	}
	return texts, lines[len(lines)-1]
}

// wantOffers checks what is offered for calls: all of the words, or nothing for an empty text.
func wantOffers(t *testing.T, calls map[string]string) {
	t.Helper()
	for line, want := range calls {
		words := strings.Split(line, " ")
		got, _ := offered(t, words...)
		for one := range strings.FieldsSeq(want) {
			if !slices.Contains(got, one) {
				t.Errorf("nines %s: %q, and no %q", line, got, one)
			}
		}
		if want == "" && len(got) > 0 {
			t.Errorf("nines %s: %q, want nothing", line, got)
		}
	}
}

// TestEveryFlagOffersItsValues: a new flag with a value, or a new verb with arguments, says in completion.go what a
// shell offers for it.
func TestEveryFlagOffersItsValues(t *testing.T) {
	root := newRootCommand()
	arguments, flags := argumentsOffered(), flagsOffered()
	verbs := map[string]bool{}
	for _, c := range everyCommand(root) {
		verb := verbOf(c)
		verbs[verb] = true
		_, takes, _ := strings.Cut(c.Use, " ")
		if takes != "" && takes != "--cpus LIST" && !strings.HasPrefix(takes, `"`) && arguments[verb] == nil {
			t.Errorf("nines %s: completion.go has no arguments for it", c.Use)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, has := c.GetFlagCompletionFunc(f.Name); !has && f.Value.Type() != "bool" {
				t.Errorf("nines %s --%s: completion.go has no values for it", verb, f.Name)
			}
		})
	}
	for verb := range arguments {
		if !verbs[verb] {
			t.Errorf("completion.go has arguments for %q, which is no verb", verb)
		}
	}
	for flag := range flags {
		verb, name, _ := strings.Cut(flag, "--")
		verb = strings.TrimSpace(verb)
		if !slices.ContainsFunc(everyCommand(root), func(c *cobra.Command) bool {
			return (verb == "" || verbOf(c) == verb || strings.HasPrefix(verbOf(c), verb+" ")) && c.Flags().Lookup(name) != nil
		}) {
			t.Errorf("completion.go has values for %q, which is no flag", flag)
		}
	}
}

func TestWordsAreOffered(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	t.Chdir(t.TempDir())
	lab := `name: words
topology:
  nodes: {a: {}, dut: {}}
  links: [{name: in, kind: veth, endpoints: ["a:x", "dut:y"]}]
`
	if err := os.WriteFile("lab.yaml", []byte(lab), 0o644); err != nil {
		t.Fatal(err)
	}
	wantOffers(t, map[string]string{
		"":                                 "run up duet help completion",
		"tune ":                            "plan apply check",
		"run --format ":                    "table json",
		"run lab.yaml --set nodes.":        "nodes.a. nodes.dut. nodes.*.",
		"run lab.yaml --set=links.in.":     "links.in.kind=",
		"up lab.yaml --set links.*.kind=b": "links.*.kind=bridge",
		"run --set traffic.":               "traffic.rate_pps= traffic.ip=",
		"run --set traffic.rate_pps=":      "",
		"duet --a links.":                  "links.in. links.out. links.*.",
		"duet --ask p99":                   "p99 p99.9",
		"figure --kind h":                  "hdr histogram",
		"figure --percentile p9":           "p90 p99 p99.9 p99.99",
		"results ls --verdict ":            "clean noisy invalid unmeasured",
		"tune plan --profile ":             "latency realtime throughput",
		"tune plan --cgroup v":             "v1 v2",
		"vlab exec --cgroup ":              "v1 v2 hybrid",
		"vlab build deb":                   "debian12 debian13",
		"power dut ":                       "on off status",
		"analyze --without latency-ts,":    "latency-ts,hist",
		"try veth ":                        "bridge xdp lxc",
		"init ":                            "",
		"init lab ve":                      "veth",
		"try --leaves r":                   "routed relayed returned",
		"schema ":                          "experiment summary",
		"down ":                            "",
		"exec ":                            "",
		"exec --lab ":                      "",
		"kbp stop ":                        "",
		"report --percentile ":             "",
	})
	for _, call := range [][]string{{"run", ""}, {"up", ""}, {"tune", "plan", "--for", ""}, {"validate", "a.yaml", ""}} {
		if texts, directive := offered(t, call...); !slices.Equal(texts, []string{"yaml", "yml"}) || directive != ":8" {
			t.Errorf("nines %q: %q %s, want YAML files", call, texts, directive)
		}
	}
}

// TestWhatIsUpIsOffered: labs, and what is in them, by their plans alone.
func TestWhatIsUpIsOffered(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	up := func(name, link string) {
		p := plans.Of(t, `name: `+name+`
topology:
  nodes:
    a: {services: [{name: web, run: [sleep, inf]}]}
    `+name+`: {}
  links: [{name: in, kind: `+link+`, endpoints: ["a:x", "`+name+`:y"]}]
`)
		folder := state.Of(name)
		if err := errors.Join(os.MkdirAll(folder.Dir, 0o700), folder.WritePlan(p)); err != nil {
			t.Fatal(err)
		}
	}
	up("one", "switch")
	wantOffers(t, map[string]string{
		"down ":             "one",
		"inspect o":         "one",
		"exec --lab ":       "one",
		"exec ":             "a one",
		"stop a ":           "one",
		"logs a ":           "web",
		"logs one ":         "",
		"restart a ":        "one web",
		"capture ":          "a:x one:y",
		"capture a:":        "a:x",
		"switch show ":      "in",
		"switch mirror in ": "a:x one:y",
		"power a ":          "one on off status",
		"cp ":               "a: one:",
		"cp a:":             "",
		"cp x a:/":          "",
	})
	up("two", "veth")
	wantOffers(t, map[string]string{
		"down ":              "one two",
		"exec ":              "a one two",
		"exec --lab two ":    "a two",
		"exec --lab=../x ":   "",
		"switch show ":       "one/in",
		"capture --lab two ": "a:x two:y",
	})
	if got, _ := offered(t, "exec", "--lab", "two", ""); slices.Contains(got, "one") {
		t.Errorf("nodes of another lab: %q", got)
	}
	if got, _ := offered(t, "stop", "a", ""); slices.Contains(got, "a") {
		t.Errorf("a node that is there is offered again: %q", got)
	}
}

// TestResultsAreOffered: the newest first, by their folder or below --out; and what is in them.
func TestResultsAreOffered(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, summary string) {
		dir := filepath.Join("results", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(summary), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one/2026-01-01T00-00-00Z", `{"trials": [
		{"id": "0001", "verdict": "clean", "variables": {"kind": "veth", "rate": 1000}},
		{"id": "0002", "verdict": "noisy", "variables": {"kind": "xdp", "rate": 1000}}]}`)
	write("two/2026-02-01T00-00-00Z", `{"trials": [`) // torn
	if err := os.MkdirAll("results/other/no-result", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one/2026-01-01T00-00-00Z", "results/latest"); err != nil {
		t.Fatal(err)
	}
	newest := []string{"latest", "two/2026-02-01T00-00-00Z", "one/2026-01-01T00-00-00Z"}
	if got, _ := offered(t, "results", "rm", ""); !slices.Equal(got, newest) {
		t.Errorf("results rm: %q, want %q", got, newest)
	}
	wantOffers(t, map[string]string{
		"report ":                                             "results/latest results/one/2026-01-01T00-00-00Z",
		"report results/o":                                    "results/one/2026-01-01T00-00-00Z",
		"report /":                                            "",
		"results show --out results/one ":                     "",
		"explain results/latest --trial ":                     "0001 0002",
		"export --trial 000":                                  "0001 0002",
		"compare results/latest --by ":                        "kind= rate=",
		"compare results/latest --by kind=":                   "kind=veth kind=xdp",
		"compare results/latest --by kind=veth,":              "kind=veth,xdp",
		"compare results/latest --by=kind=xdp,v":              "kind=xdp,veth",
		"figure results/latest --where rate=":                 "rate=1000",
		"figure a=results/latest --trials 0001,":              "0001,0002",
		"figure results/two/2026-02-01T00-00-00Z --group-by ": "kind rate",
		"results ls --name ":                                  "one two",
	})
	got, _ := offered(t, "report", "results/latest", "")
	if len(got) > 0 {
		t.Errorf("report takes one result, and is offered %q", got)
	}
}

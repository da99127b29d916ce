package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

func TestFigureVerb(t *testing.T) {
	dir := writeResult(t, "veth", "bridge")
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args []string
		file string
		head string
	}{
		{[]string{}, "hdr.svg", "<?xml"},
		{[]string{"--kind", "histogram", "--format", "pdf"}, "histogram.pdf", "%PDF-"},
		{[]string{"--panels", "kind", "--out", "p.svg"}, "p.svg", "<?xml"},
		{[]string{"--kind", "histogram", "--bins", "linear"}, "histogram.svg", "<?xml"},
		{[]string{"--out", "a.png"}, "a.png", "\x89PNG"},
		{[]string{"--out", "b.tex", "--width", "page", "--height", "2in"}, "b.tex", "% verbs: hdr"},
		{[]string{"--out", "c", "--format", "tex", "--trials", "0001,0003-0004", "--repeats", "each"}, "c", "% verbs"},
	} {
		code, stdout, stderr := call(append([]string{"figure", dir}, test.args...)...)
		drawn, err := os.ReadFile(test.file)
		if code != exit.Done || stderr != "" || err != nil || !bytes.HasPrefix(drawn, []byte(test.head)) || !strings.HasPrefix(stdout, test.file+"\n") {
			t.Errorf("%v: code %d, %v, %q, %q, %.20q", test.args, code, err, stdout, stderr, drawn)
		}
	}
	code, stdout, _ := call("figure", dir+"=old", dir, "--where", "kind=veth", "--out", "-")
	if code != exit.Done || !strings.Contains(stdout, "<desc>latency (µs) over percentile (%). old. verbs.") {
		t.Errorf("code %d, %.500s", code, stdout)
	}
}

func TestFigureOfPublishedFilesAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(file, []byte("ts,count\n0,1000\n1000000000,1010\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("figure", "--kind", "rate", "--published", file+"=before the device", "--source", "Doe 2023", "--out", "-")
	if code != exit.Done || !strings.Contains(stdout, "before the device*. * published: Doe 2023.") {
		t.Errorf("code %d, %s, %.500s", code, stderr, stdout)
	}
}

func TestFigureRefuses(t *testing.T) {
	dir := writeResult(t, "veth")
	wrong := filepath.Join(t.TempDir(), "wrong.csv")
	if err := os.WriteFile(wrong, []byte("ts,count\n0,1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exit.Wrong, "takes result folders"},
		{[]string{t.TempDir()}, exit.Wrong, "has no summary.json"},
		{[]string{dir, "--kind", "pie"}, exit.Wrong, "hdr, histogram, intervals, worst, jitter"},
		{[]string{dir, "--out", "x.gif"}, exit.Wrong, `"gif"; allowed: svg, pdf, png, tex`},
		{[]string{dir, "--out", "x"}, exit.Wrong, "--format"},
		{[]string{dir, "--trials", "7"}, exit.Wrong, "trial 0007 does not exist; the trials are 0001, 0002"},
		{[]string{dir, "--trials", "a-b"}, exit.Wrong, "0001,0004-0006"},
		{[]string{dir, "--where", "veth"}, exit.Wrong, "KEY=VALUE"},
		{[]string{dir, "--where", "kind=ovs"}, exit.Wrong, "the values are veth"},
		{[]string{dir, "--repeats", "all"}, exit.Wrong, "band, lines, none, each"},
		{[]string{dir, "--width", "wide"}, exit.Wrong, "85mm"},
		{[]string{dir, "--width", "85"}, exit.Wrong, "85mm"},
		{[]string{dir, "--height", "10mm"}, exit.Wrong, "leaves no room"},
		{[]string{dir, "--bins", "square"}, exit.Wrong, "log, linear"},
		{[]string{dir, "--slowest", "-1"}, exit.Wrong, "above 0"},
		{[]string{dir, "--panels", "colour"}, exit.Wrong, "no single variable"},
		{[]string{dir, "--max-latency", "-1us"}, exit.Wrong, "above 0"},
		{[]string{dir, "--kind", "loss"}, exit.Wrong, "there is data for hdr, histogram"},
		{[]string{dir, "--published", wrong}, exit.Wrong, "belong to the figure rate"},
		{[]string{dir, "--published", "none.csv"}, exit.Wrong, "no such file"},
		{[]string{dir, "--out", filepath.Join("none", "x.svg")}, exit.Failed, "cannot write none"},
	} {
		code, _, stderr := call(append([]string{"figure"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("nines figure %s: code %d, %q; want %d, %q", strings.Join(test.args, " "), code, stderr, test.code, test.want)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("a refused call left %v", left)
	}
}

package draft

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/spec"
)

// runsOf is what a draft's file means.
func runsOf(t *testing.T, o Options) []spec.Run {
	t.Helper()
	o.Name = "try"
	d, err := New(o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	text := d.Text("lab.yaml")
	file, err := spec.Load("lab.yaml", text)
	if err != nil {
		t.Fatalf("%+v: %v\n%s", o, err, text)
	}
	runs, err := file.Runs()
	if err != nil {
		t.Fatalf("%+v: %v\n%s", o, err, text)
	}
	return runs
}

// programsIn makes programs in a folder, which becomes the working one.
func programsIn(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryDraftIsAFile: with each link kind and runtime that a host can make, and in all combinations of the rest.
func TestEveryDraftIsAFile(t *testing.T) {
	programsIn(t, "a", "b")
	for _, kind := range linkNames() {
		if end := spec.LinkKind(kind).Descriptor().End; end != spec.EndDevice { // whose devices a file has to name
			runsOf(t, Options{Words: []string{kind}, Runtime: "netns"})
		}
	}
	for _, words := range [][]string{nil, {"veth"}, {"veth", "bridge"}, {"veth", "xdp", "bridge"}, {"veth", "veth:gro=true"}, {"veth:mtu=9000,gro=true"},
		{"netns", "lxc"}, {"veth", "bridge", "netns", "lxc"}, {"xdp:impair={delay: 1ms, loss: 0.01}"}, {"oci:image=busybox,driver=podman"}} {
		for _, programs := range [][]string{nil, {"./a"}, {"./a 1", "./a 2"}, {"./a", "./b", `./b "$NINES_PORT"`}} {
			for _, rates := range [][]string{nil, {"10k..1M"}} {
				for _, repeats := range []int{0, 3} {
					runsOf(t, Options{Words: words, Programs: programs, Rates: rates, Repeats: repeats, FrameBytes: []string{"64,1518"}, For: time.Second})
				}
			}
		}
	}
	for _, leaves := range spec.LeavesNames() {
		runsOf(t, Options{Programs: []string{"./a"}, Leaves: spec.Leaves(leaves)})
	}
	for _, programs := range [][]string{nil, {"./a", "./b"}} {
		runs := runsOf(t, Options{Programs: programs, Crowd: "other programs use 1.5 of 2 CPUs", RealTime: true})
		for name, n := range runs[0].Experiment.Topology.Nodes {
			if isOwn := programs != nil && name != "loadgen"; (n.Scheduling == nil) != isOwn {
				t.Errorf("%q: the scheduling of node %s is %+v", programs, name, n.Scheduling)
			}
		}
	}
}

// TestTwoVariantsAreADuet unless a load is varied or they are repeated.
func TestTwoVariantsAreADuet(t *testing.T) {
	programsIn(t, "a", "b")
	for _, c := range []struct {
		options Options
		a, b    string // the labels of a duet
		runs    int
	}{
		{Options{}, "veth", "bridge", 1},
		{Options{Words: []string{"xdp", "veth"}}, "xdp", "veth", 1},
		{Options{Words: []string{"veth", "veth:gro=true"}}, "default gro", "gro=true", 1},
		{Options{Words: []string{"veth", "bridge:gro=true"}}, "side a", "side b", 1},
		{Options{Words: []string{"netns", "lxc"}}, "netns", "lxc", 1},
		{Options{Programs: []string{"./a", "./b"}}, "a", "b", 1},
		{Options{Programs: []string{"./a 1", "./a 20"}}, "a-1", "a-20", 1},
		{Options{Programs: []string{"sh a", "sh b 1"}}, "a", "b", 1},
		{Options{Words: []string{"veth", "bridge"}, Repeats: 6}, "", "", 2},
		{Options{Words: []string{"veth", "bridge"}, Rates: []string{"1k,2k"}}, "", "", 4},
		{Options{Words: []string{"veth", "bridge", "xdp"}}, "", "", 3},
		{Options{Words: []string{"veth"}}, "", "", 1},
		{Options{Rates: []string{"1k..10k"}}, "", "", 3},
		{Options{Programs: []string{"./a"}}, "", "", 1},
	} {
		runs := runsOf(t, c.options)
		if len(runs) != c.runs {
			t.Errorf("%+v: %d runs, not %d", c.options, len(runs), c.runs)
		}
		duet := runs[0].Experiment.Duet
		switch {
		case duet == nil:
			if c.a != "" {
				t.Errorf("%+v is no duet", c.options)
			}
		case duet.Sides[0].Label != c.a || duet.Sides[1].Label != c.b:
			t.Errorf("%+v compares %q and %q, not %q and %q", c.options, duet.Sides[0].Label, duet.Sides[1].Label, c.a, c.b)
		}
	}
}

func TestRangesOfRates(t *testing.T) {
	for text, want := range map[string][]float64{
		"10k": {1e4}, "10k..1M": {1e4, 3e4, 1e5, 3e5, 1e6}, "10k..50k": {1e4, 3e4, 5e4}, "1000..1200": {1000, 1200},
		"5,1k": {5, 1000}, "1.5M,1.5M": {1.5e6}, "20k..32k": {2e4, 3.2e4},
	} {
		got, err := readRates([]string{text})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestAProgramIsCalledAsItsUserDoes: with its path, and by a shell where the line needs one.
func TestAProgramIsCalledAsItsUserDoes(t *testing.T) {
	programsIn(t, "fwd", "my fwd")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	fwd := filepath.Join(dir, "fwd")
	for line, want := range map[string][]string{
		"./fwd":            {fwd},
		" ./fwd -v  3 ":    {fwd, "-v", "3"},
		`./fwd "$A" 'b c'`: {"sh", "-c", "exec " + fwd + ` "$A" 'b c'`},
	} {
		list, err := readPrograms([]string{line}, nil)
		if err != nil || !slices.Equal(list[0].run, want) || list[0].dir != dir {
			t.Errorf("%s: %+v, %v", line, list, err)
		}
	}
	list, err := readPrograms([]string{"./fwd $A"}, []string{"b c"})
	if err != nil || !slices.Equal(list[0].run, []string{"sh", "-c", "exec " + fwd + ` $A "$@"`, "sh", "b c"}) {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestWhatCannotBeTriedIsExplained with what to do.
func TestWhatCannotBeTriedIsExplained(t *testing.T) {
	programsIn(t, "fwd")
	for name, text := range map[string]string{"echo.py": "print()", "bare": "echo"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod("bare", 0o755); err != nil {
		t.Fatal(err)
	}
	for words, o := range map[string]Options{
		`did you mean "veth"?`:               {Words: []string{"vteh"}},
		"is a program: to measure it":        {Words: []string{"fwd"}},
		"no experiment, which ends in .yaml": {Words: []string{"echo.py"}},
		"is listed twice: to see how far":    {Words: []string{"veth", "veth"}},
		"write KIND:KEY=VALUE":               {Words: []string{"veth:gro"}},
		"did you mean ./fwd?":                {Programs: []string{"./fdw"}},
		"for the file of this folder":        {Programs: []string{"fwd"}},
		"is not in PATH; install it":         {Programs: []string{"no-such-program"}},
		"is a folder":                        {Programs: []string{"/tmp"}},
		"chmod +x ./echo.py, or --service":   {Programs: []string{"./echo.py"}},
		"would have to name an interpreter":  {Programs: []string{"./bare"}},
		"nor does the folder none":           {Programs: []string{"./none/fwd"}},
		"--service is empty":                 {Programs: []string{" "}},
		"--service ./fwd is listed twice":    {Programs: []string{"./fwd", "./fwd"}},
		"the arguments of one --service":     {Arguments: []string{"1"}},
		"name it by --service":               {Leaves: spec.LeavesRouted},
		"--rate x: write packets a second":   {Rates: []string{"10..x"}},
		"--rate -5: write":                   {Rates: []string{"-5"}},
		"from the smaller to the larger":     {Rates: []string{"1M..10k"}},
		"at most 20 can be tried at once":    {Rates: []string{"1..1000G"}},
		"--frame big: write the bytes":       {FrameBytes: []string{"big"}},
		"--for and --repeat take no negativ": {Repeats: -1},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, without %q", o, err, words)
		}
	}
}

// FuzzNames: whatever a program is called, its names are ones that a file takes.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"fwd", "-", "ä b", "a.b_c -x", strings.Repeat("x", 100), "9 /"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			t.Skip("no argument of a program can hold a NUL byte (execve(2))")
		}
		d := &Draft{options: Options{Name: "try"}, links: []variant{{name: "veth"}}, programs: []program{
			{title: caseName(text), name: serviceName(text), run: []string{"/bin/true", text}, dir: "/"}, {title: caseName(text) + "2", name: "b", run: []string{"/bin/true"}, dir: "/"},
		}, inTurn: true}
		if _, err := spec.Load("lab.yaml", d.Text("lab.yaml")); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// TestWordsOfProgramsStayText: true and 5 are words of a command line, too.
func TestWordsOfProgramsStayText(t *testing.T) {
	for word, want := range map[string]string{
		"true": `"true"`, "5": `"5"`, "null": `"null"`, "1e3": `"1e3"`, "[a]": `"[a]"`, "{a: b}": `"{a: b}"`, "./fwd": "./fwd",
		"-v": `"-v"`, "": `""`, "a b": `"a b"`, "$NINES_PORT": `"$NINES_PORT"`,
	} {
		if got := yamlWord(word); got != want {
			t.Errorf("%q is written %s, not %s", word, got, want)
		}
	}
}

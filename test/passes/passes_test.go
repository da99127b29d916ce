package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// What tests say by labtest is understood, whatever the words are.
func TestEachNeedHasItsPass(t *testing.T) {
	t.Setenv(labtest.PassVariable, labtest.PassPure)
	t.Setenv(labtest.LongVariable, "")
	t.Setenv(labtest.BootVariable, "")
	t.Setenv("NINES_REQUIRE", "")
	t.Setenv("NINES_TEST_VM", "")
	skipped := func(need func(testing.TB)) string { return skippedBy(t, need) }
	for name, c := range map[string]struct {
		said         string
		runsIn       string // which pass after the pure one
		lostIn, okIn string
	}{
		"root":      {skipped(func(t testing.TB) { labtest.Require(t, "root", false) }), "root", "root", "pure"},
		"quiet":     {skipped(labtest.QuietCore), "quiet", "quiet", "host"},
		"alone":     {skipped(labtest.WholeHost), "host", "host", "root"},
		"long":      {skipped(labtest.LongForm), "", "", "root"},
		"lab":       {skipped(func(t testing.TB) { labtest.VirtualLab(t, labtest.BootRT) }), "", "", "root"},
		"host":      {skipped(labtest.Laboratory), "", "", "root"},
		"other":     {skipped(func(t testing.TB) { labtest.OtherTest(t, false) }), "", "", "root"},
		"own words": {"not today", "", "pure", ""},
	} {
		if c.said == "" {
			t.Errorf("%s is not skipped", name)
		}
		for _, pass := range []string{labtest.PassRoot, labtest.PassHost, labtest.PassQuiet} {
			if got := isFor(pass, []string{c.said}); got != (pass == c.runsIn) {
				t.Errorf("%s (%s) is run in the pass %s: %v", name, c.said, pass, got)
			}
		}
		if c.lostIn != "" && !isLost(c.lostIn, c.said) || c.okIn != "" && isLost(c.okIn, c.said) {
			t.Errorf("%s (%s) is lost in other passes than %s", name, c.said, c.lostIn)
		}
	}
}

// skippedBy is what a need says that skips a test.
func skippedBy(t *testing.T, need func(testing.TB)) string {
	t.Helper()
	recorder, ended := &skipRecorder{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		need(recorder)
	}()
	<-ended
	return recorder.said
}

// Where durations are not known, few tests that run experiments or boot machines begin before many that build labs.
func TestExperimentsAndMachinesWeighMoreThanLabs(t *testing.T) {
	t.Setenv("NINES_REQUIRE", "")
	weight := func(what string, count int) int {
		w := work{record: &record{Skipped: map[string][]string{}}}
		for i := range count {
			name := fmt.Sprint("Test", i)
			w.tests = append(w.tests, name)
			w.record.Skipped[name] = []string{skippedBy(t, func(t testing.TB) { labtest.Require(t, what, false) })}
		}
		return w.weight()
	}
	for _, slow := range []string{labtest.WholeExperiment, labtest.VirtualMachine} {
		if few, many := weight(slow, 4), weight("root", 10); few <= many || many != 10 {
			t.Errorf("4 tests for want of %s weigh %d, and 10 labs %d", slow, few, many)
		}
	}
}

// skipRecorder keeps what a test says when it is skipped.
type skipRecorder struct {
	testing.TB
	said string
}

func (r *skipRecorder) Skip(words ...any) {
	r.said = fmt.Sprint(words...)
	runtime.Goexit()
}

// The tests of a large package are shared, and those of a file stay together.
func TestALargePackageHasParts(t *testing.T) {
	in := &testPackage{Dir: t.TempDir(), TestGoFiles: []string{"b_test.go", "a_test.go", "c_test.go"}}
	var all []string
	for _, file := range in.TestGoFiles {
		text := "package x\n"
		for i := range 50 {
			all = append(all, fmt.Sprintf("Test%s%d", file[:1], i))
			text += "\nfunc " + all[len(all)-1] + "(t *testing.T) {}\n"
		}
		if err := os.WriteFile(filepath.Join(in.Dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts := work{in: in, pass: labtest.PassRoot, tests: all}.parted()
	if len(parts) != 3 || parts[0].part == parts[1].part || parts[0].name() == parts[1].name() {
		t.Fatalf("%d parts: %+v", len(parts), parts)
	}
	var shared []string
	for i, part := range parts {
		if file := "abc"[i : i+1]; len(part.tests) != 50 || !strings.HasPrefix(part.tests[0], "Test"+file) || !strings.HasPrefix(part.tests[49], "Test"+file) {
			t.Errorf("part %s is %v", part.part, part.tests)
		}
		shared = append(shared, part.tests...)
	}
	slices.Sort(shared)
	slices.Sort(all)
	if !slices.Equal(shared, all) {
		t.Errorf("all parts are %v", shared)
	}
	for _, whole := range []work{
		{in: in, pass: labtest.PassQuiet, tests: all},
		{in: in, pass: labtest.PassRoot, tests: all[:few]},
	} {
		if parts := whole.parted(); len(parts) != 1 || parts[0].part != "" {
			t.Errorf("%d tests in the pass %s have %d parts", len(whole.tests), whole.pass, len(parts))
		}
	}
}

// Each part of a package that runs has a place of its own, and no more run than there are places.
func TestPartsOfAPackageHavePlaces(t *testing.T) {
	in, other := &testPackage{}, &testPackage{}
	part := func(in *testPackage, place string) work {
		return work{in: in, pass: labtest.PassRoot, part: "7", place: place}
	}
	running := []work{part(in, "1"), part(in, "3"), part(other, "2"), {in: in, pass: labtest.PassPure}}
	if got := part(in, "").freePlace(running); got != "2" {
		t.Errorf("the third part has place %s", got)
	}
	if got := (work{in: in, pass: labtest.PassRoot}).freePlace(nil); got != "" {
		t.Errorf("the only part of a package has place %s", got)
	}
	running = append(running, part(in, "2"), part(in, "4"))
	many := places{pure: 8, other: 10, all: 10}
	if got := many.next([]work{part(in, ""), part(other, "")}, running); got != 1 {
		t.Errorf("beside all parts of a package that have a place, %d begins", got)
	}
}

// small is a module with packages of tests, which are run in it. What ran returns are the tests that passed.
type small struct {
	*testing.T
	dir string
}

func newSmall(t *testing.T) small {
	t.Helper()
	s := small{t, t.TempDir()}
	s.write("go.mod", "module nines.dev/small\n\ngo 1.26\n")
	s.write("hack/go", "#!/bin/sh\nexec "+labtest.Repository()+"/hack/go \"$@\"\n")
	t.Chdir(s.dir)
	t.Setenv("NINES_REQUIRE", "")
	return s
}

func (s small) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.Fatal(err)
	}
}

func (s small) ran(wantFailed bool, arguments ...string) string {
	s.Helper()
	var out bytes.Buffer
	err := run(s.Context(), &out, arguments)
	if (err != nil) != wantFailed {
		s.Fatalf("%v: %v\n%s", arguments, err, &out)
	}
	var passed []string
	for line := range strings.Lines(out.String()) {
		if _, name, found := strings.Cut(line, `"Test":"`); found && strings.Contains(line, `"Action":"pass"`) && !strings.Contains(name, "/") {
			passed = append(passed, name[:strings.Index(name, `"`)])
		}
	}
	return strings.Join(passed, " ")
}

// TestRootsTestsOfAPackageWaitForItsOwnOnly: the second package's tests end only after what the first one has left
// to root, which then has its second run if it fails.
func TestRootsTestsOfAPackageWaitForItsOwnOnly(t *testing.T) {
	s := newSmall(t)
	sign := filepath.Join(s.dir, "sign")
	s.write("a/a_test.go", `package a

import (
	"os"
	"testing"
)

func TestAsRoot(t *testing.T) {
	if os.Getenv("NINES_PASS") == "pure" {
		t.Skip("missing: root")
	}
	if _, err := os.Stat("`+sign+`"); err != nil {
		os.WriteFile("`+sign+`", nil, 0o666)
		t.Error("too early")
	}
}
`)
	s.write("b/b_test.go", `package b

import (
	"os"
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat("`+sign+`"); err == nil {
			return
		}
	}
	t.Error("root's tests of a have not begun")
}
`)
	if got := s.ran(true, "-p", "1", "pure", "root"); got != "TestWaits" {
		t.Errorf("passed %s", got)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"failed", "pure", "root"}); err != nil || out.String() != "a TestAsRoot\n" {
		t.Errorf("failed are %q, %v", &out, err)
	}
	if got := s.ran(false, "again", "pure", "root"); got != "TestAsRoot" {
		t.Errorf("the second run passed %s", got)
	}
	s.ran(true, "root", "pure")
}

// A failed test of a guarantee is not run again, and counts as failed in the second run of the others.
func TestGuaranteesAreNotRepeated(t *testing.T) {
	log := &logRecorder{TB: t}
	labtest.Guarantee(log)
	s := newSmall(t)
	// Both fail the first time only.
	tests := `package PACKAGE

import (
	"os"
	"path/filepath"
	"testing"
)

func fails(t *testing.T) {
	sign := filepath.Join("` + s.dir + `", filepath.Base(t.Name()))
	if _, err := os.Stat(sign); err != nil {
		os.WriteFile(sign, nil, 0o666)
		t.Error("lost")
	}
}

func TestGuarantee(t *testing.T) {
	t.Log("` + log.said + `")
	t.Run("killed", fails)
}
`
	s.write("a/a_test.go", strings.Replace(tests, "PACKAGE", "a", 1))
	s.ran(true, "pure")
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"failed", "pure"}); err == nil || out.Len() > 0 {
		t.Errorf("of a guarantee alone %q is run again, %v", &out, err)
	}
	if err := os.Remove(filepath.Join(s.dir, "killed")); err != nil {
		t.Fatal(err)
	}
	s.write("a/b_test.go", "package a\n\nimport \"testing\"\n\nfunc TestOnce(t *testing.T) { fails(t) }\n")
	s.ran(true, "pure")
	if err := run(t.Context(), &out, []string{"failed", "pure"}); err != nil || out.String() != "a TestOnce\n" {
		t.Errorf("run again is %q, %v", &out, err)
	}
	if got := s.ran(true, "again", "pure"); got != "TestOnce" {
		t.Errorf("the second run passed %q", got)
	}
}

// logRecorder keeps what a test logs.
type logRecorder struct {
	testing.TB
	said string
}

func (r *logRecorder) Log(words ...any) { r.said = fmt.Sprint(words...) }

// What is to be done as root begins first, up to its places; the pure pass always has one. Parts of one package leave
// a place as long as there may be others.
func TestWhoBeginsNext(t *testing.T) {
	lab, measure := &testPackage{}, &testPackage{}
	pure, root, other := work{in: lab, pass: labtest.PassPure}, work{in: lab, pass: labtest.PassRoot}, work{in: measure, pass: labtest.PassRoot}
	together := (&pass{atOnce: 2, names: []string{labtest.PassPure, labtest.PassRoot}}).places()
	alone := (&pass{atOnce: 2, names: []string{labtest.PassHost}}).places()
	for _, c := range []struct {
		places           places
		waiting, running []work
		want             int
	}{
		{together, []work{pure, root}, nil, 1},
		{together, []work{pure, root}, []work{pure, pure}, 1},
		{together, []work{pure, pure}, []work{pure}, 0},
		{together, []work{pure, pure}, []work{pure, pure}, -1},
		{together, []work{root, pure}, []work{root, root, other}, 1},
		{together, []work{root}, []work{root, root, other}, -1},
		{together, []work{root, pure}, []work{pure, root, root, other}, -1},
		{together, []work{root, other, pure}, []work{root, root}, 1},
		{together, []work{root, root}, []work{pure, root, root}, -1},
		{together, []work{root, root}, []work{root, root}, 0},
		{together, nil, nil, -1},
		{alone, []work{root}, nil, 0},
		{alone, []work{root}, []work{root}, -1},
	} {
		if got := c.places.next(c.waiting, c.running); got != c.want {
			t.Errorf("%+v: %d begins", c, got)
		}
	}
}

// TestEveryTestRunsInOnePass runs the passes over a small module, and again after one
// has failed.
func TestEveryTestRunsInOnePass(t *testing.T) {
	s := newSmall(t)
	write, ran, dir := s.write, s.ran, s.dir
	const head = "package x\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n\t\"testing\"\n)\n\nvar _, _ = os.Getenv, signal.Ignored\n\n"
	write("a/x/x_test.go", head+`
func TestPure(t *testing.T) {}

func TestAsRoot(t *testing.T) {
	if os.Getenv("NINES_PASS") == "pure" {
		t.Skip("missing: root")
	}
}

func TestInPart(t *testing.T) {
	t.Run("sub", func(t *testing.T) { TestAsRoot(t) })
}

func TestWhole(t *testing.T) {
	TestAsRoot(t)
	if os.Getenv("NINES_PASS") == "root" {
		t.Skip("for the host as a whole, where make test-host runs it")
	}
}

func TestAlone(t *testing.T) {
	if os.Getenv("NINES_PASS") != "quiet" {
		t.Skip("for a quiet core, where make test-quiet runs it")
	}
}
`)
	// Of the same name, in another folder; it fails the first time.
	write("b/x/x_test.go", head+`
func TestOnce(t *testing.T) {
	if _, err := os.Stat("`+dir+`/tried"); err != nil {
		os.WriteFile("`+dir+`/tried", nil, 0o644)
		t.Error("too early")
	}
}

func TestLost(t *testing.T) { t.Skip("not today") }

func TestHearsCtrlC(t *testing.T) {
	if signal.Ignored(os.Interrupt) {
		t.Error("it is ignored")
	}
}
`)
	for _, step := range []struct {
		failed bool
		words  string
		want   string
	}{
		{true, "-p 1 pure", "TestPure TestInPart TestHearsCtrlC"},
		{false, "again pure", "TestOnce"},
		{true, "host", ""}, // the root pass finds those for it
		{false, "root", "TestAsRoot TestInPart"},
		{false, "host", "TestWhole"},
		{false, "quiet", "TestAlone"},
	} {
		if got := ran(step.failed, strings.Fields(step.words)...); got != step.want {
			t.Errorf("%s passed %s, want %s", step.words, got, step.want)
		}
	}
	s.write("b/x/z_test.go", "package x\n\nimport \"testing\"\n\nfunc TestData(t *testing.T) { t.Skip(\"missing: data\") }\n")
	ran(false, "root")
	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{"left-out", "pure", "root"}); err != nil || out.String() != "left out without data: b-x TestData\n" {
		t.Errorf("left out are %q, %v", &out, err)
	}
	if err := os.Remove("b/x/z_test.go"); err != nil {
		t.Fatal(err)
	}
	// Some of the tests, after a change, are not taken for all of them.
	write("b/x/y_test.go", "package x\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n")
	ran(false, "-run", "Once", "pure")
	if got := ran(false, "root"); !strings.HasPrefix(got, "TestOnce TestHearsCtrlC") {
		t.Errorf("after a part of the pure pass, root passed %s", got)
	}
	// One that every pass skips has failed where all must be there.
	t.Setenv("NINES_REQUIRE", "all")
	ran(true, "pure")
	// What passes told of other tests is not taken for those that there are now.
	write("a/x/x_test.go", head+"func TestAsRoot(t *testing.T) {\n\tif os.Getenv(\"NINES_PASS\") == \"pure\" {\n\t\tt.Skip(\"missing: root\")\n\t}\n}\n\nfunc TestNew(t *testing.T) {}\n")
	if got := ran(false, "root"); got != "TestNew TestAsRoot" {
		t.Errorf("after a change root passed %s", got)
	}
}

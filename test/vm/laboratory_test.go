package vm

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"nines.dev/nines/test/labtest"
	"nines.dev/nines/testbed/kbp"
	"nines.dev/nines/testbed/machine"
	"nines.dev/nines/testbed/machine/agent"
	"nines.dev/nines/testbed/machine/image"
	"nines.dev/nines/testbed/vlab"
)

// required skips what make test-vm has not asked for, and wants what it needs.
func required(t *testing.T) (repository string, store image.Store) {
	t.Helper()
	if os.Getenv("NINES_TEST_VM") == "" {
		t.Skip("make test-vm runs it")
	}
	labtest.Require(t, "root", os.Geteuid() == 0)
	for _, program := range []string{machine.Program, "mmdebstrap"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program+" (make setup-vm)", err == nil)
	}
	_, file, _, _ := runtime.Caller(0)
	repository = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return repository, image.Store{
		Dir: image.DefaultDir(), Guest: filepath.Join(repository, "bin", "nines-guest"), Progress: say,
	}
}

// say tells what goes on, for people: the longest step takes a minute.
func say(what string) { fmt.Fprintf(os.Stderr, "vm: %s\n", what) }

// row is a line of the table at the end.
type row struct {
	mechanism, where, kernel, result string
	seconds                          float64
}

func TestLaboratory(t *testing.T) {
	repository, store := required(t)
	packages := findPackages(t, repository)
	chosen := regexp.MustCompile(os.Getenv("NINES_VM_RUN"))
	table := &rowTable{path: filepath.Join(repository, "build", "vm", "table.txt")}
	machines := make(chan struct{}, atOnce)
	for _, boot := range boots {
		if some := os.Getenv("NINES_VM_BOOTS"); some != "" && !slices.Contains(strings.Split(some, ","), boot.name) {
			continue
		}
		tests := map[string][]string{}
		for _, p := range packages {
			for _, name := range p.boots[boot.name] {
				if chosen.MatchString(name) {
					tests[p.path] = append(tests[p.path], name)
				}
			}
		}
		if len(tests) == 0 {
			continue
		}
		t.Run(boot.name, func(t *testing.T) {
			t.Parallel()
			machines <- struct{}{}
			t.Cleanup(func() { <-machines }) // when the machine has stopped
			begin := time.Now()
			lab := startLaboratory(t, repository, store, boot)
			kernel := boot.name + ": Linux " + lab.Kernel.Version
			rows := []row{{"boots", "testbed/machine", kernel, "pass", time.Since(begin).Seconds()}}
			// After each boot, so that a run that is cut off shows what it had.
			defer func() { table.add(t, boot.name, rows) }()
			for _, p := range packages {
				if len(tests[p.path]) > 0 {
					t.Run(p.path, func(t *testing.T) {
						rows = append(rows, runTests(t, lab, repository, p, boot.name, tests[p.path], kernel)...)
					})
				}
			}
		})
	}
}

// atOnce is how many laboratories run at a time. A translated one waits more than it
// computes: a whole run one by one takes four fifths of one CPU.
const atOnce = 2

// rowTable is the table of all boots, in their order, however they end.
type rowTable struct {
	path string
	mu   sync.Mutex
	rows map[string][]row
}

func (r *rowTable) add(t *testing.T, boot string, rows []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = map[string][]row{}
	}
	r.rows[boot] = rows
	var all []row
	for _, b := range boots {
		all = append(all, r.rows[b.name]...)
	}
	writeTable(t, r.path, all)
}

// startLaboratory boots, with what the tests need of the repository at its own path.
func startLaboratory(t *testing.T, repository string, store image.Store, boot oneBoot) *vlab.Laboratory {
	t.Helper()
	options := boot.options
	options.Store, options.Progress, options.Programs = store, say, filepath.Join(repository, "bin")
	for _, name := range []string{"bin", "cmd", "engine", "examples", "measure", "report", "result", "spec", "test", "testbed", "go.mod", filepath.Join("build", "vm")} {
		options.Copy = append(options.Copy, filepath.Join(repository, name))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	buildModule(ctx, t, store, options.Kernel)
	lab, err := vlab.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Stop(); err != nil {
			t.Error(err)
		}
	})
	return lab
}

// buildModule builds the live patch of kmod/kbp for a boot's kernel, which the laboratory
// then has: it has no compiler of its own. Only Debian's plain kernels get one.
func buildModule(ctx context.Context, t *testing.T, store image.Store, kernel string) {
	t.Helper()
	if !strings.HasPrefix(kernel, "debian") {
		return
	}
	release, root, err := vlab.Headers(ctx, store, kernel)
	if err == nil {
		_, err = kbp.Build(ctx, kbp.Target{Release: release, Root: root}, say)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runTests runs tests of a package in the laboratory. Each becomes a subtest here, as
// soon as it has ended there.
func runTests(t *testing.T, lab *vlab.Laboratory, repository string, p labPackage, boot string, names []string, kernel string) []row {
	var rows []row
	left := slices.Clone(names)
	show := func(r testResult) {
		left = slices.DeleteFunc(left, func(name string) bool { return name == r.name })
		if r.action == "skip" { // it has said that it is for this boot
			r.action = "fail"
			r.output += "\nskipped where it must run"
		}
		rows = append(rows, row{mechanism(r.name), p.path, kernel, r.action, r.seconds})
		t.Run(r.name, func(t *testing.T) {
			if r.action == "fail" {
				t.Errorf("in the laboratory, boot %s:\n%s", boot, r.output)
			}
		})
	}
	all, wait := relay(t, repository, show)
	cycles, patience := cyclesAsked()
	request := agent.Request{
		Argv: []string{p.binary, "-test.v=test2json", "-test.timeout=" + patience, "-test.run", "^(" + strings.Join(names, "|") + ")$"},
		Dir:  filepath.Join(repository, p.path),
		Env:  append(cycles, labtest.BootVariable+"="+boot, "NINES_REQUIRE=all", "NINES_LIBEXEC="+filepath.Join(repository, "bin")),
	}
	code, err := lab.Do(t.Context(), request, agent.Streams{Stdout: all, Stderr: all})
	rest := wait()
	for _, name := range left {
		rows = append(rows, row{mechanism(name), p.path, kernel, "fail", 0})
		t.Errorf("%s did not end in the laboratory", name)
	}
	if err != nil || code != 0 && len(left) > 0 {
		console, _ := os.ReadFile(lab.Config().ConsoleLog())
		t.Errorf("the tests of %s: exit code %d, %v; they said last:\n%s\nthe console:\n%s", p.path, code, err, rest, console)
	}
	return rows
}

// cyclesAsked hands on how often the tests that kill nines are to do so, and gives them the
// time for it.
func cyclesAsked() (env []string, patience string) {
	patience = "20m" // on a busy host that has no KVM
	for _, name := range []string{"NINES_CYCLES", "NINES_KILL_CYCLES"} {
		if count := os.Getenv(name); count != "" {
			env = append(env, name+"="+count)
			patience = "3h"
		}
	}
	return env, patience
}

// relay hands what is written to Go's reader of tests, and what that finds to show.
// wait ends it and returns the last of what was written.
func relay(t *testing.T, repository string, show func(testResult)) (to io.Writer, wait func() string) {
	t.Helper()
	reader := exec.Command("hack/go", "tool", "test2json", "-t")
	reader.Dir = repository
	input, err := reader.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	results, read := make(chan testResult), make(chan error, 1)
	go func() {
		defer close(results)
		e := eventReader{tell: func(r testResult) { results <- r }}
		lines := bufio.NewReader(output)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				read <- nil
				return
			}
			if err := e.read(line); err != nil {
				read <- err
				_, _ = io.Copy(io.Discard, output)
				return
			}
		}
	}()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for r := range results {
			show(r)
		}
	}()
	last := &tail{}
	return io.MultiWriter(input, last), func() string {
		_ = input.Close()
		<-shown
		if err := <-read; err != nil {
			t.Error(err)
		}
		if err := reader.Wait(); err != nil {
			t.Errorf("go tool test2json: %v", err)
		}
		return last.String()
	}
}

// tail keeps the last of what is written.
type tail struct{ data []byte }

const tailBytes = 8 << 10

func (l *tail) Write(p []byte) (int, error) {
	l.data = append(l.data, p...)
	l.data = l.data[max(0, len(l.data)-tailBytes):]
	return len(p), nil
}

func (l *tail) String() string { return string(l.data) }

// mechanism makes words of a test's name: "VLAN devices" of TestLabVLANDevices.
func mechanism(test string) string {
	name := strings.TrimPrefix(test, "TestLab")
	upper := func(i int) bool { return i < len(name) && unicode.IsUpper(rune(name[i])) }
	var words []string
	begin := 0
	for i := 1; i <= len(name); i++ {
		// A word begins at a capital after a small letter, or before one.
		if i < len(name) && !(upper(i) && (!upper(i-1) || i+1 < len(name) && unicode.IsLower(rune(name[i+1])))) {
			continue
		}
		word := name[begin:i]
		if strings.ToUpper(word) != word || len(word) == 1 {
			word = strings.ToLower(word)
		}
		words, begin = append(words, word), i
	}
	return strings.Join(words, " ")
}

func TestMechanismsAreWords(t *testing.T) {
	for name, want := range map[string]string{
		"TestLabVLANDevices": "VLAN devices", "TestLabHasTwoNUMANodes": "has two NUMA nodes", "TestLabKernelOVS": "kernel OVS",
		"TestLabACableCarriesFrames": "a cable carries frames", "TestLabCgroupV1": "cgroup V1", "TestLab100Cycles": "100 cycles",
	} {
		if got := mechanism(name); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// writeTable writes the table of mechanisms, which make test-vm shows.
func writeTable(t *testing.T, path string, rows []row) {
	t.Helper()
	var text bytes.Buffer
	width := map[string]int{"mechanism": len("mechanism"), "where": len("package"), "kernel": len("boot and kernel")}
	for _, r := range rows {
		width["mechanism"], width["where"], width["kernel"] =
			max(width["mechanism"], len(r.mechanism)), max(width["where"], len(r.where)), max(width["kernel"], len(r.kernel))
	}
	line := func(mechanism, where, kernel, result, seconds string) {
		fmt.Fprintf(&text, "%-*s  %-*s  %-*s  %-6s  %7s\n", width["mechanism"], mechanism, width["where"], where, width["kernel"], kernel, result, seconds)
	}
	line("mechanism", "package", "boot and kernel", "result", "seconds")
	for _, r := range rows {
		line(r.mechanism, r.where, r.kernel, r.result, fmt.Sprintf("%.1f", r.seconds))
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

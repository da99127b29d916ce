package killed

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// These tests damage the journal of a lab that is up: down undoes all of it, and its exit code says whether the journal
// told everything. What another program made stays.

// damagedLabs are labs of each runtime, by the name of a lab.
var damagedLabs = []struct {
	name string
	text func(*testing.T) string
}{
	{"tbdamns", func(t *testing.T) string {
		labs.NeedDnsmasq(t)
		return `
topology:
  nodes:
    a: {runtime: netns, memory: 256MiB}
    b: {runtime: netns, app: {kind: reflect, backend: raw}}
    h: {runtime: host, exec: [["sh", "-c", "sleep 1000 >/dev/null 2>&1 &"]]}
  links:
    - {name: v, endpoints: ["a:v", "b:v"]}
    - {name: br, kind: bridge, endpoints: ["a:br", "b:br", "h:br"]}
management: {}
`
	}},
	{"tbdamlxc", func(t *testing.T) string {
		labs.NeedLXC(t)
		return `
topology:
  nodes: {a: {runtime: lxc, memory: 256MiB}, b: {runtime: lxc, app: {kind: reflect, backend: raw}}}
  links: [{name: v, endpoints: ["a:v", "b:v"]}]
`
	}},
	{"tbdamoci", func(t *testing.T) string {
		labs.NeedOCIDriver(t, "runc")
		return fmt.Sprintf(`
topology:
  nodes:
    a: {runtime: oci, driver: runc, image: %[1]q, init: nines, memory: 256MiB}
    b: {runtime: oci, driver: runc, image: %[1]q, command: [/bin/sleep, "100000"]}
  links: [{name: v, kind: xdp, endpoints: ["a:v", "b:v"]}]
`, labs.OCIImage(t, v1.Config{}))
	}},
	{"tbdamvm", func(t *testing.T) string {
		labs.NeedQEMU(t)
		return `
topology:
  nodes: {a: {}, g: {runtime: vm, vm: {acceleration: tcg}}}
  links: [{name: br, kind: bridge, endpoints: ["a:br", "g:br"]}]
`
	}},
}

// journal is the path of a lab's journal.
func (c *Crasher) journal(lab string) string {
	return filepath.Join(c.StateDir, "labs", lab, "journal.jsonl")
}

var kindOfLine = regexp.MustCompile(`"kind":"([^"]*)"|"(done|undone|end)":`)

// lineOf is the i-th line to damage, from 0: each of another kind as long as there are more. What is done at the same
// time has another order in each journal.
func lineOf(lines [][]byte, i int) int {
	var order []int
	for round := 1; len(order) < len(lines); round++ {
		seen := map[string]int{}
		for n, text := range lines {
			kind := string(kindOfLine.Find(text))
			if seen[kind]++; seen[kind] == round {
				order = append(order, n)
			}
		}
	}
	return order[i%len(order)]
}

// cut cuts the i-th line off, or all before its middle remains, and returns which line that is.
func cut(lines [][]byte, i int) (line int, text []byte) {
	line = lineOf(lines, i)
	return line, append(bytes.Join(lines[:line], nil), lines[line][:len(lines[line])/2*(i%2)]...)
}

// flip changes a bit in the i-th line.
func flip(lines [][]byte, i int) (line int, text []byte) {
	line = lineOf(lines, i)
	text = bytes.Join(lines, nil)
	text[len(bytes.Join(lines[:line], nil))+(7919*(i+1))%(len(lines[line])-1)] ^= 1
	return line, text
}

// process matches the lines of steps that nothing but a search finds.
var process = regexp.MustCompile(`"intent":.*"kind":"(process|network|container|oci container)"`)

// damagesOfLab is how many cuts, and how many flips, a lab gets in the long form.
const damagesOfLab = 20

func TestDownOfALabWithADamagedJournal(t *testing.T) {
	labtest.Guarantee(t)
	for _, l := range damagedLabs {
		t.Run(l.name, func(t *testing.T) {
			labtest.Root(t)
			text := "name: " + l.name + "\n" + l.text(t)
			c := New(t, text, text)
			path := c.journal(l.name)
			for i := range labtest.Cases(1, make([]int, damagesOfLab)) {
				for what, damage := range map[string]func([][]byte, int) (int, []byte){"cut": cut, "changed": flip} {
					c.Run(0, "up", c.Whole)
					whole, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					lines := slices.Collect(bytes.Lines(whole))
					line, text := damage(lines, i)
					if err := os.WriteFile(path, text, 0o600); err != nil {
						t.Fatal(err)
					}
					what = fmt.Sprintf("%s in line %d of %d, %s", what, line+1, len(lines), lines[line])
					dry, shown := c.try(nil, c.Nines, "down", "--dry-run", l.name)
					code, said := c.try(nil, c.Nines, "down", l.name)
					c.Gone(fmt.Sprintf("%s: down exited with %d: %s", what, code, said))
					if code > 1 || dry > 1 || dry < code {
						t.Errorf("%s: down exited with %d: %s; and the dry run with %d: %s", what, code, said, dry, shown)
					}
					named := strings.Contains(said, fmt.Sprintf("line %d is damaged", line+1))
					lost := slices.ContainsFunc(lines[line:], process.Match)
					if isCut := len(text) < len(whole); isCut && code == 0 && lost || !isCut && !(code == 1 && named) {
						t.Errorf("%s: down exited with %d: %s", what, code, said)
					}
				}
			}
		})
	}
}

// plain is a journal's text in the form of earlier versions.
func plain(t *testing.T, text []byte) []byte {
	t.Helper()
	var out []byte
	for line := range bytes.Lines(text) {
		for _, key := range []string{`"line":\d+,`, `,"crc":"[0-9a-f]{8}"`} {
			line = regexp.MustCompile(key).ReplaceAll(line, nil)
		}
		if !bytes.Contains(line, []byte(`"end":true`)) {
			out = append(out, line...)
		}
	}
	out = bytes.Replace(out, []byte("nines/journal/v2"), []byte("nines/journal/v1"), 1)
	if bytes.Contains(out, []byte(`"crc"`)) || bytes.Contains(out, []byte(`"line":`)) {
		t.Fatalf("not the old form: %s", out)
	}
	return out
}

// TestDownOfALabOfAnEarlierVersion: its journal has neither numbers nor checksums, nor a copy of the first line. A key
// that is wrong is seen, and what it lost is found.
func TestDownOfALabOfAnEarlierVersion(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	const name = "tbdamold"
	text := "name: " + name + "\n" + damagedLabs[0].text(t)
	c := New(t, text, text)
	path := c.journal(name)
	for _, wrong := range []bool{false, true} {
		c.Run(0, "up", c.Whole)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		old := plain(t, whole)
		if wrong {
			old = bytes.Replace(old, []byte(`"intent":1,`), []byte(`"intant":1,`), 1)
		}
		for _, err := range []error{os.WriteFile(path, old, 0o600), os.Remove(path + ".first")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		code, said := c.try(nil, c.Nines, "down", name)
		c.Gone(fmt.Sprintf("down exited with %d: %s", code, said))
		if wrong != (code == 1) || code > 1 || wrong != strings.Contains(said, "line 2 is damaged") {
			t.Errorf("with a wrong key %v: down exited with %d: %s", wrong, code, said)
		}
	}
}

// TestDownWithoutAJournalLeavesWhatOthersMade: the whole file is gone, and others' things look as the lab's do.
func TestDownWithoutAJournalLeavesWhatOthersMade(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	const name = "tbdamgone"
	text := "name: " + name + "\n" + damagedLabs[0].text(t)
	c := New(t, text, text)
	c.Run(0, "up", c.Whole)
	path := c.journal(name)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if len(traces.Left(t, c.Prefix, c.StateDir)) < 10 {
		t.Fatal("the lab is up, and the check for what is left sees little of it")
	}

	// A process with the token of another lab, and a namespace with a name such as the lab's.
	theirs := exec.Command("sleep", "1000")
	theirs.Env = append(os.Environ(), "NINES_TOKEN=nines-0123456789abcdef:a")
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Process.Kill(); _ = theirs.Wait() })
	id, err := proc.Of(theirs.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	named := c.Prefix + "-theirs"
	labtest.Sh(t, "ip", "netns", "add", named)
	t.Cleanup(func() { labtest.Sh(t, "ip", "netns", "delete", named) })
	// A name of a living process of another.
	doubtful := filepath.Join(netns.Dir, c.Prefix+"-doubtful")
	if err := os.Symlink(fmt.Sprintf("/proc/%d/ns/net", theirs.Process.Pid), doubtful); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(doubtful) })

	code, said := c.try(nil, c.Nines, "down", name)
	if code != 1 || !strings.Contains(said, doubtful+" is left") || !labtest.There(t, path+".first") {
		t.Errorf("down exited with %d: %s", code, said)
	}
	if !id.Alive() || !labtest.There(t, filepath.Join(netns.Dir, named)) || !labtest.There(t, doubtful) {
		t.Error("what another made is gone")
	}
	if err := os.Remove(doubtful); err != nil {
		t.Fatal(err)
	}
	code, said = c.try(nil, c.Nines, "down", name)
	left := traces.Left(t, c.Prefix, c.StateDir)
	if code != 1 || slices.ContainsFunc(left, func(text string) bool { return !strings.Contains(text, named) }) {
		t.Errorf("down again exited with %d: %s; left %q", code, said, left)
	}
}

// TestDownAgainIsWellOnceNothingIsLeft: a journal that tells everything stays while something is left, with exit code 1.
// The next down removes it, with 0. (One that is damaged leaves open what it lost: then it is 1 again.)
func TestDownAgainIsWellOnceNothingIsLeft(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	const name = "tbdamagain"
	text := "name: " + name + "\n" + damagedLabs[0].text(t)
	c := New(t, text, text)
	c.Run(0, "up", c.Whole)
	theirs := exec.Command("sleep", "1000")
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Process.Kill(); _ = theirs.Wait() })
	doubtful := filepath.Join(netns.Dir, c.Prefix+"-doubtful")
	if err := os.Symlink(fmt.Sprintf("/proc/%d/ns/net", theirs.Process.Pid), doubtful); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(doubtful) })
	for range 2 {
		code, said := c.try(nil, c.Nines, "down", name)
		if code != 1 || !strings.Contains(said, doubtful+" is left") || !labtest.There(t, c.journal(name)) {
			t.Errorf("with something left, down exited with %d: %s", code, said)
		}
	}
	if err := os.Remove(doubtful); err != nil {
		t.Fatal(err)
	}
	code, said := c.try(nil, c.Nines, "down", name)
	if code != 0 || labtest.There(t, c.journal(name)) {
		t.Errorf("with nothing left, down exited with %d: %s", code, said)
	}
	c.Gone(said)
}

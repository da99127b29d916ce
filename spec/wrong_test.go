package spec

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"nines.dev/nines/terminal"
)

// wrongFile is a file that is refused, from an archive in testdata/invalid:
//
//	-- meaning/veth-three --
//	… the file …
//	! 8:31 topology.links.0.endpoints: a veth link joins two endpoints | has 3 | kind: bridge
//
// A line after the file is an error: its place and key, and what its text must contain. The folder
// says whether the schema finds it too: no (meaning), yes (form), or no, as it is not a document
// that a schema applies to (text). What grows with each link kind and runtime is named in braces (lists).
type wrongFile struct {
	folder, name string
	data         []byte
	want         []string
}

// lists are what the lines after a file name in braces: what an error lists of the link kinds and runtimes.
func lists() *strings.Replacer {
	named := []string{
		"{link kinds}", listedKinds(func(*LinkDescriptor) bool { return true }),
		"{link kinds that can be impaired}", listedKinds(canBeImpaired),
		"{link kinds that can be cut}", listedKinds((*LinkDescriptor).CanBeCut),
		"{link kinds for guests}", listedKinds(takesGuests),
		"{runtimes}", terminal.Listed(runtimeNames()),
	}
	for _, key := range []string{"restart", "memory", "hugepage_limit", "mounts", "privileged", "cpu_list"} {
		named = append(named, "{runtimes with "+key+"}", terminal.Listed(runtimesThatTake(key)))
	}
	return strings.NewReplacer(named...)
}

// noText are files that an archive cannot hold, as it is a text file.
var noText = []wrongFile{
	{"text", "control-character", []byte("name: lab\a\n"), []string{"1:10: control character 0x07 | UTF-8"}},
	{"text", "nul-byte", []byte("name: la\x00b\n"), []string{"1:9: control character 0x00 | UTF-8"}},
	{"text", "latin-1", []byte("name: lab\n# caf\xe9\n"), []string{"2:6: 0xe9 is not UTF-8 | save the file as"}},
	{"text", "utf-16", []byte("\xff\xfen\x00a\x00"), []string{"1:1: 0xff is not UTF-8 | save the file as"}},
}

func wrongFiles(t testing.TB) []wrongFile {
	t.Helper()
	all, named := noText, lists()
	for _, path := range files(t, "testdata/invalid/*.txtar") {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			folder, name := filepath.Split(f.Name)
			data, want, _ := bytes.Cut(append([]byte("\n"), f.Data...), []byte("\n! "))
			lines := strings.Split(named.Replace(strings.TrimSuffix(string(want), "\n")), "\n! ")
			all = append(all, wrongFile{filepath.Clean(folder), name, bytes.TrimPrefix(append(data, '\n'), []byte("\n")), lines})
		}
	}
	return all
}

// Each wrong file gives exactly the errors listed after it.
func TestWrongFiles(t *testing.T) {
	for _, wrong := range wrongFiles(t) {
		t.Run(wrong.name, func(t *testing.T) {
			f, err := Load("wrong.yaml", wrong.data)
			if err == nil {
				_, err = f.Runs()
			}
			errs, ok := AsErrors(err)
			if !ok || errs.ExitCode() != 2 {
				t.Fatalf("not errors of the file, with exit code 2: %#v", err)
			}
			if len(errs) != len(wrong.want) {
				t.Fatalf("%d errors, want %d:\n%v", len(errs), len(wrong.want), err)
			}
			for i, e := range errs {
				place, words, _ := strings.Cut(wrong.want[i], ": ")
				if got := strings.TrimSpace(fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Path)); got != place {
					t.Errorf("the place is %s, want %s: %v", got, place, e)
				}
				for _, word := range strings.Split(words, " | ") {
					if said := e.Problem + "; " + e.Remedy + " allowed: " + e.Allowed; !strings.Contains(said, word) {
						t.Errorf("%q is not in %v", word, e)
					}
				}
			}
		})
	}
}

// TestAnErrorIsOneLine: a key, a value or the file's name may have line breaks and what a terminal acts on,
// and then looks neither like another error nor like another file.
func TestAnErrorIsOneLine(t *testing.T) {
	const acts = "\nother.yaml:1:1: all is well\x1b[2J\u009b"
	for where, text := range map[string]string{
		"a key":       "name: a\n" + strconv.Quote("b"+acts) + ": 1\n",
		"a name":      "name: a\ntopology: {nodes: {" + strconv.Quote("b"+acts) + ": {runtime: netns}}}\n",
		"a value":     "name: " + strconv.Quote("b"+acts) + "\n",
		"a quantity":  "name: a\ntraffic: {rate_pps: " + strconv.Quote(acts) + "}\n",
		"the grammar": "name: 'a" + acts,
	} {
		f, err := Load("wrong"+acts+".yaml", []byte(text))
		if err == nil {
			_, err = f.Runs()
		}
		errs, ok := AsErrors(err)
		if !ok {
			t.Fatalf("%s: %v", where, err)
		}
		for _, e := range errs {
			if said := e.Error(); said != terminal.Plain(said) {
				t.Errorf("%s: %q", where, said)
			}
		}
	}
}

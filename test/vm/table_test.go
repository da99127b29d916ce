package vm

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"

	"nines.dev/nines/test/vm/boots"
)

// row is a line of the table at the end.
type row struct {
	mechanism, where, kernel, result string
	seconds                          float64
}

// again is the result of a test that failed, and passed when it was run once more.
const again = "again"

// rowTable is the table of all boots, in their order, however they end.
type rowTable struct {
	path string
	mu   sync.Mutex
	rows map[string][]row
	// notes are lines below the table.
	notes map[string][]string
}

func (r *rowTable) add(t *testing.T, boot string, rows []row, notes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows, r.notes = map[string][]row{}, map[string][]string{}
	}
	r.rows[boot], r.notes[boot] = rows, notes
	var all []row
	var below []string
	for _, b := range boots.All {
		all = append(all, r.rows[b.Name]...)
		below = append(below, r.notes[b.Name]...)
	}
	writeTable(t, r.path, all, below)
}

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

// writeTable writes the table of mechanisms, which make test-vm shows, and what is to be
// said below it.
func writeTable(t *testing.T, path string, rows []row, below []string) {
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
	for _, note := range below {
		text.WriteString("\n" + note)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

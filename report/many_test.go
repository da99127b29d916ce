package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// cloned makes a result of this many trials out of one with a single trial: two repeats for each value of a
// variable.
func cloned(t *testing.T, of string, trials int) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(of, result.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var summary map[string]any
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	first := summary["trials"].([]any)[0].(map[string]any)
	files, err := os.ReadDir(filepath.Join(of, "trials", first["id"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for i := range trials {
		trial := maps.Clone(first)
		trial["id"], trial["repeat"], trial["variables"] = fmt.Sprintf("%04d", i+1), i%2+1, map[string]any{"traffic.rate_pps": 1000 + i/2}
		all = append(all, trial)
		folder := filepath.Join(dir, "trials", trial["id"].(string))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.Link(filepath.Join(of, "trials", first["id"].(string), f.Name()), filepath.Join(folder, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	summary["trials"] = all
	if text, err = json.Marshal(summary); err == nil {
		err = os.WriteFile(filepath.Join(dir, result.SummaryFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// cost is what a call takes of the process: its CPU time, and how often it allocates.
type cost struct {
	cpu         time.Duration
	allocations uint64
}

func costOf(t *testing.T, call func()) cost {
	t.Helper()
	used := func() (c cost) {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		return cost{time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), memory.Mallocs}
	}
	runtime.GC()
	before := used()
	call()
	after := used()
	return cost{after.cpu - before.cpu, after.allocations - before.allocations}
}

// TestThousandsOfTrialsTakeTheirShare: four times the trials take about four times the work, not sixteen, and no
// more memory for each. CPU time is the least of several tries, as others of the host may lengthen one.
func TestThousandsOfTrialsTakeTheirShare(t *testing.T) {
	few, many := 40, 160
	if labtest.Long() {
		few, many = 250, 1000 // as many as a page has
	}
	one := simulation{name: "many", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 1, seconds: 1, seed: 7}.write(t, t.TempDir())
	const mostHeap = 128 << 20
	page := func(dir string) func() {
		return func() {
			r, err := result.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = WritePageOf(r, io.Discard, PageOptions{Progress: func(done, of int) {
				if done < of {
					return
				}
				runtime.GC()
				var memory runtime.MemStats
				if runtime.ReadMemStats(&memory); memory.HeapAlloc > mostHeap {
					t.Errorf("with %d trials read the heap has %d MiB", of, memory.HeapAlloc>>20)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	table := func(dir string) func() {
		return func() {
			r, err := result.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteTable(io.Discard, r.Summary, TableOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fewDir, manyDir := cloned(t, one, few), cloned(t, one, many)
	const most = 8 // between 4 and 16
	for what, of := range map[string]func(string) func(){"page": page, "table": table} {
		var small, large cost
		for try := range 5 {
			s, l := costOf(t, of(fewDir)), costOf(t, of(manyDir))
			if try == 0 {
				small, large = s, l
			}
			small.cpu, large.cpu = min(small.cpu, s.cpu), min(large.cpu, l.cpu)
			if large.cpu <= most*small.cpu {
				break
			}
		}
		t.Logf("%s: %d trials %+v, %d trials %+v", what, few, small, many, large)
		if large.cpu > most*small.cpu || large.allocations > most*small.allocations {
			t.Errorf("%s: %d trials take %+v, and %d take %+v", what, few, small, many, large)
		}
	}
}

// TestATableOfTwentyThousandTrialsEnds: one that compares each with each would take hours.
func TestATableOfTwentyThousandTrialsEnds(t *testing.T) {
	const trials = 20_000
	s := result.Summary{Name: "many"}
	for i := range trials {
		s.Trials = append(s.Trials, result.Trial{
			ID: fmt.Sprintf("%05d", i+1), Repeat: 1, Variables: map[string]any{"traffic.rate_pps": float64(i)}, TxPackets: 1, RxPackets: 1, Verdict: result.Clean,
		})
	}
	var out bytes.Buffer
	if err := WriteTable(&out, s, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines < trials {
		t.Errorf("the table of %d trials has %d lines", trials, lines)
	}
}

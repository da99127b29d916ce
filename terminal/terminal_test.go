package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/test/labtest"
)

func TestNumbersHaveThreeDigits(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 8.3164: "8.32", 22.14: "22.1", 120.4: "120", 12345.6: "12,346",
		99.96: "100", 9.996: "10.0", 0.1: "0.10", 0.0003: "0.0003", 1234567: "1,234,567", -12345: "-12,345", -0.4: "-0.40"} {
		if got := Significant(value); got != want {
			t.Errorf("Significant(%g) = %q, want %q", value, got, want)
		}
	}
}

func TestDigitsHaveNoZerosAtTheEnd(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 1.2: "1.2", 0.057: "0.057", 12.04: "12", 123: "120", 9.96: "10", 0.5: "0.5"} {
		if got := Digits(value, 2); got != want {
			t.Errorf("Digits(%g, 2) = %q, want %q", value, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1000: "1 µs", 1234: "1.23 µs", 129_310_000: "129 ms", 2_500_000_000: "2.5 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ns, got, want)
		}
	}
	for d, want := range map[time.Duration]string{45 * time.Second: "45 s", 200 * time.Second: "3 min 20 s", 125 * time.Minute: "2 h 5 min"} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestBytesAreInTheLargestUnit(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 1<<30 + 1<<29: "1.5 GiB", 1 << 51: "2048.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPlainTextMovesNoCursor(t *testing.T) {
	if got := Plain("a\x1b[2Jb\u202ec µ–→ d\n"); got != "a?[2Jb?c µ–→ d?" {
		t.Errorf("%q", got)
	}
}

// TestJSONMovesNoCursor: a terminal acts on U+009B as on ESC [, which package json lets through.
func TestJSONMovesNoCursor(t *testing.T) {
	const text = "a\x1b[2J\u009b2J\u202e\x7f\U000e0001 µ–→ d\n"
	var out strings.Builder
	if err := json.NewEncoder(JSON(&out)).Encode(map[string]string{text: text}); err != nil {
		t.Fatal(err)
	}
	if line := strings.TrimSuffix(out.String(), "\n"); line != Plain(line) || !strings.Contains(line, "µ–→") {
		t.Errorf("%q", line)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back[text] != text {
		t.Errorf("%q became %q (%v)", text, back, err)
	}
}

func TestTablesAndWrappedTextMoveNoCursor(t *testing.T) {
	table := &Table{}
	table.Words("a\x1b[2J")
	table.Numbers("b", "\u009b")
	table.Row("c\x1b", Cell{"d\r", Red})
	if got := write(t, table, Style{}) + Wrap("e\x1b[2J f\u202e", 0, 0, 80); strings.ContainsAny(got, "\x1b\u009b\r\u202e") || strings.Count(got, "?") != 6 {
		t.Errorf("%q", got)
	}
	if got := PlainLines("a\n\tb\x1b\r"); got != "a\n\tb??" {
		t.Errorf("%q", got)
	}
}

func TestWrap(t *testing.T) {
	if got := "Note: " + Wrap("one two  three four five six seven", 6, 2, 22); got != "Note: one two three\n  four five six seven" {
		t.Errorf("%q", got)
	}
}

func write(t *testing.T, table *Table, s Style) string {
	t.Helper()
	var out strings.Builder
	if err := table.Write(&out, s); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTableHasNumbersToTheRight(t *testing.T) {
	table := &Table{}
	table.Words("kind")
	table.Numbers("p99", "µs")
	table.Words("verdict")
	table.Row("veth", 5, Cell{"noisy", Yellow})
	table.Row("bridge", "1,000", "a long sentence")
	want := `kind      p99  verdict
           µs
veth        5  noisy
bridge  1,000  a long sentence
`
	if diff := cmp.Diff(want, write(t, table, Style{})); diff != "" {
		t.Error(diff)
	}
	if got := write(t, table, Style{Columns: 29}); !strings.Contains(got, "bridge 1,000 a") {
		t.Errorf("a narrow terminal has\n%s", got)
	}
	if got := write(t, table, Style{Colour: true}); !strings.Contains(got, "\x1b[33mnoisy\x1b[0m\n") {
		t.Errorf("in colour: %q", got)
	}
}

// Like text/tabwriter: rows after a blank line, or after a shorter row, have their own widths.
func TestTableOfPartsHasWidthsOfTheirOwn(t *testing.T) {
	table := &Table{}
	table.Row("name", "quickstart, which is a long name")
	table.Row("", "loadgen", "netns")
	table.Row("", "b", "lxc")
	table.Row()
	table.Row("KIND", "MTU")
	table.Row("a-long-kind", 1500)
	want := `name  quickstart, which is a long name
      loadgen  netns
      b        lxc

KIND         MTU
a-long-kind  1500
`
	if diff := cmp.Diff(want, write(t, table, Style{})); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsPrintedMovesNoCursor: only the format has line breaks, whatever an argument is and however it
// is printed.
func TestWhatIsPrintedMovesNoCursor(t *testing.T) {
	const text = "a\x1b[2J\nb\u009b"
	var out strings.Builder
	Printf(&out, "%s|%v|%-12s|%q|%d|%*d|%.1f\n", text, errors.New(text), text, text, 7, 4, 7, 0.25)
	Println(&out, []string{text}, json.RawMessage("1"), nil)
	want := "a?[2J?b?|a?[2J?b?|a?[2J?b?    |\"a\\x1b[2J\\nb\\u009b\"|7|   7|0.2\n[a?[2J?b?] [49] <nil>\n"
	if out.String() != want {
		t.Errorf("\n%q, want\n%q", out.String(), want)
	}
}

// TestALineIsDrawnInPlaceOfTheLast, without an escape sequence where there is no colour.
func TestALineIsDrawnInPlaceOfTheLast(t *testing.T) {
	var out strings.Builder
	var line Line
	for _, text := range []string{"a\x1b[2J long text", "short"} {
		line.Draw(&out, Style{Terminal: true, Columns: 12}, text)
	}
	line.Clear(&out)
	line.Clear(&out)
	if want := "a?[2J long…\r           \rshort\r     \r"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestStyleIsWhatTheUserWants: an empty NO_COLOR is as good as none (no-color.org).
func TestStyleIsWhatTheUserWants(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	labtest.Require(t, fmt.Sprint("a pseudo-terminal: ", err), err == nil)
	defer master.Close()
	for _, test := range []struct {
		term, noColour   string
		terminal, colour bool
	}{
		{"xterm", "", true, true}, {"xterm", "1", true, false}, {"dumb", "", false, false}, {"dumb", "1", false, false},
	} {
		t.Setenv("TERM", test.term)
		t.Setenv("NO_COLOR", test.noColour)
		if s := StyleOf(master); s.Terminal != test.terminal || s.Colour != test.colour || s.Columns != Columns {
			t.Errorf("TERM=%s NO_COLOR=%s: %+v", test.term, test.noColour, s)
		}
	}
}

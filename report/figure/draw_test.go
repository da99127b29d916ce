package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/golden"
)

// drawings has a figure of each form.
func drawings(t testing.TB) map[string]*Figure {
	t.Helper()
	in := sweep().open(t)
	high := []Condition{{Key: "rate_pps", Values: []string{"400000"}}}
	recorded, err := result.Open("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	measured := Input{Result: recorded}
	return map[string]*Figure{
		"hdr":        mustMake(t, Options{Kind: HDR, Where: []Condition{{Key: "rate_pps", Values: []string{"40000"}}}}, measured),
		"histogram":  mustMake(t, Options{Kind: Histogram, Where: []Condition{{Key: "rate_pps", Values: []string{"40000"}}}}, measured),
		"worst":      mustMake(t, Options{Kind: Worst, Where: []Condition{{Key: "kind", Values: []string{"veth"}}}}, measured),
		"rate":       mustMake(t, Options{Kind: Rate, Trials: []string{"0001", "0002"}}, measured),
		"published":  mustMake(t, Options{Kind: HDR, Where: high, Repeats: RepeatsLines}, in),
		"loss":       mustMake(t, Options{Kind: Loss}, in),
		"throughput": mustMake(t, Options{Kind: Throughput}, in),
		"sizes":      mustMake(t, Options{Kind: Throughput}, sizes().open(t)),
		"maxima":     mustMake(t, Options{Kind: Throughput}, maxima().open(t)),
		"searched":   mustMake(t, Options{Kind: Throughput}, searched(false).open(t)),
		"latency":    mustMake(t, Options{Kind: Latency}, in),
		"panels":     mustMake(t, Options{Kind: HDR}, nine().open(t)),
		"slowest":    mustMake(t, Options{Kind: Worst}, nine().open(t)),
		"jitter":     mustMake(t, Options{Kind: Jitter}, interrupted().open(t)),
	}
}

func rendered(t testing.TB, f *Figure, format string, size Size) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := f.Write(&out, format, size); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return out.Bytes()
}

// The golden files are figures that people checked. "hdr", "histogram", "worst" and "rate" show a
// real run, testdata/recorded, the others made-up results.
func TestGoldenFigures(t *testing.T) {
	for name, f := range drawings(t) {
		got := string(rendered(t, f, "svg", Size{}))
		golden.Equal(t, filepath.Join("testdata", name+".svg"), got)
	}
}

func TestSameResultSameBytes(t *testing.T) {
	in := sweep().open(t)
	for _, format := range Formats() {
		var first []byte
		for range 3 {
			f := mustMake(t, Options{Kind: HDR, Where: []Condition{{Key: "kind", Values: []string{"veth"}}}}, in)
			now := rendered(t, f, format, Size{})
			if first == nil {
				first = now
			} else if !bytes.Equal(first, now) {
				t.Errorf("%s differs from one time to the next", format)
			}
		}
	}
}

func TestNothingDependsOnTheReadersFonts(t *testing.T) {
	for name, f := range drawings(t) {
		if svg := rendered(t, f, "svg", Size{}); bytes.Contains(svg, []byte("<text")) || bytes.Contains(svg, []byte("font-family")) {
			t.Errorf("%s.svg has text in a font that the reader may lack", name)
		}
		pdf := rendered(t, f, "pdf", Size{})
		fonts := bytes.Count(pdf, []byte("/Type /FontDescriptor"))
		if fonts != 1 || bytes.Count(pdf, []byte("/FontFile2")) != fonts || !bytes.Contains(pdf, []byte("/ToUnicode")) {
			t.Errorf("%s.pdf: %d fonts, %d of them embedded", name, fonts, bytes.Count(pdf, []byte("/FontFile2")))
		}
		if bytes.Contains(pdf, []byte("Date")) {
			t.Errorf("%s.pdf has a date", name)
		}
	}
}

func TestSizesAreThoseAskedFor(t *testing.T) {
	f := mustMake(t, Options{Kind: Loss}, sweep().open(t))
	size := Size{100 * vg.Millimeter, 50 * vg.Millimeter}
	picture, err := png.Decode(bytes.NewReader(rendered(t, f, "png", size)))
	if err != nil {
		t.Fatal(err)
	}
	if at := picture.Bounds().Size(); math.Abs(float64(at.X)-100/25.4*300) > 1 || math.Abs(float64(at.Y)-50/25.4*300) > 1 {
		t.Errorf("png of %v, want 100 mm × 50 mm at 300 dpi", at)
	}
	if svg := string(rendered(t, f, "svg", size)); !strings.Contains(svg, `width="283.46pt" height="141.73pt"`) {
		t.Errorf("svg %.300s", svg)
	}
	if pdf := string(rendered(t, f, "pdf", size)); !strings.Contains(pdf, "/MediaBox [0 0 283.46 141.73]") {
		t.Error("the pdf's page is not 100 mm × 50 mm")
	}
	if tex := string(rendered(t, f, "tex", size)); !strings.Contains(tex, "paperwidth=283.465bp,paperheight=141.732bp") {
		t.Errorf("tex %.600s", tex)
	}
	if err := f.Write(&bytes.Buffer{}, "svg", Size{30 * vg.Millimeter, 20 * vg.Millimeter}); exit.Code(err) != exit.Wrong {
		t.Errorf("30 mm × 20 mm: %v", err)
	}
	if err := f.Write(&bytes.Buffer{}, "gif", Size{}); err == nil || !strings.Contains(err.Error(), "svg, pdf, png, tex") {
		t.Errorf("gif: %v", err)
	}
}

// TeX cannot parse 1e-05, and treats %, _ and & in names as commands.
func TestTeXIsReadable(t *testing.T) {
	in := made{name: "100%_a&b", records: []result.Record{
		record(map[string]any{"links.in.kind": `50%_&#${}~^\`}, 1, 1000, 4000, 0),
		record(map[string]any{"links.in.kind": `µ × 漢 "x"`}, 1, 1000, 5000, 0)}}.open(t)
	tex := string(rendered(t, mustMake(t, Options{Kind: HDR}, in), "tex", Size{}))
	if bad := regexp.MustCompile(`\d[eE][+-]?\d+bp|NaN|Inf`).FindString(tex); bad != "" {
		t.Errorf("a length %q", bad)
	}
	for _, want := range []string{`50\%\_\&\#\$\{\}\~{}\^{}$\backslash$`, `$\mu$ $\times$ ? ''x''`} {
		if !strings.Contains(tex, want) {
			t.Errorf("no %s in\n%.1000s", want, tex)
		}
	}
	depth := 0
	for i, r := range tex {
		if escaped := i > 0 && tex[i-1] == '\\'; escaped {
			continue
		}
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	if depth != 0 || strings.Count(tex, `\begin{pgfscope}`) != strings.Count(tex, `\end{pgfscope}`) {
		t.Errorf("braces or scopes are left open: %d", depth)
	}
}

// Colour, dashes and marker each distinguish curves without the others.
func TestLooksDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range mostLooks {
		s := Series{Look: i}
		for _, key := range []string{fmt.Sprint("colour", s.color()), fmt.Sprint("dash", s.dash()),
			fmt.Sprint("marker", markers[i](vg.Point{}, 1))} {
			if seen[key] {
				t.Errorf("look %d is another's: %s", i, key)
			}
			seen[key] = true
		}
		if s.Source = 1; len(s.dash()) == 0 {
			t.Errorf("look %d: a published curve is drawn as a whole line", i)
		}
	}
}

func TestLabelsDoNotTouch(t *testing.T) {
	for _, test := range []struct {
		at, widths []float64
		want       int
	}{
		{[]float64{0, 10, 20, 30}, []float64{9, 9, 9, 9}, 1},
		{[]float64{0, 10, 20, 30}, []float64{9, 9, 12, 12}, 2},
		{[]float64{0, 10, 20, 30}, []float64{50, 50, 50, 50}, 4},
		{nil, nil, 1},
	} {
		if got := everySo(test.at, test.widths); got != test.want {
			t.Errorf("every %d. of %v, want %d.", got, test.widths, test.want)
		}
	}
}

func TestTicks(t *testing.T) {
	show := func(a Axis) string {
		var out []string
		for _, tick := range a.Ticks {
			if tick.Label != "" {
				out = append(out, tick.Label)
			}
		}
		return fmt.Sprintf("%g…%g %s", a.Min, a.Max, strings.Join(out, " "))
	}
	for _, test := range []struct {
		axis Axis
		want string
	}{
		{logAxis("", 3, 45_000), "2…50000 10 100 1,000 10,000"},
		{logAxis("", 4.2, 136), "2…200 2 5 10 20 50 100 200"},
		{logAxis("", 0.05, 0.05), "0.025…0.1 0.05 0.1"},
		{linearAxis("", 0, 137), "0…140 0 20 40 60 80 100 120 140"},
		{linearAxis("", 0, 0), "0…1 0 0.2 0.4 0.6 0.8 1"},
		{percentileAxis(2e5), "1…200000 0 50 90 99 99.9 99.99 99.999"},
		{sizeAxis([]float64{64, 1518}), "53.333333333333336…1821.6 64 1518"},
	} {
		if got := show(test.axis); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// Text around the picture must not hide any of it.
func TestLegendAndSourcesAreOutsideTheData(t *testing.T) {
	for name, f := range drawings(t) {
		size := f.sizeFor(Size{})
		l, s := f.legend(size.Width), f.sourceLines(size.Width)
		data := size.Height - l.height() - s.height() - f.above() - f.below()
		if data < 15*vg.Millimeter {
			t.Errorf("%s: %.0f mm are left for the data", name, float64(data/vg.Millimeter))
		}
		for i, label := range l.labels {
			column := vg.Length(i/l.rows) * l.width
			if end := column + swatch + gap + textWidth(label, legendSize); end > size.Width {
				t.Errorf("%s: %q ends at %.0f of %.0f points", name, label, float64(end), float64(size.Width))
			}
		}
		for _, line := range s {
			if textWidth(line, sourceSize) > size.Width {
				t.Errorf("%s: %q is wider than the figure", name, line)
			}
		}
	}
}

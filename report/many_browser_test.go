package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSixtyCombinationsInChromium: a page of many combinations begins with lines of all kinds, says how many rows its
// tables have, and leads to each of its sections.
func TestSixtyCombinationsInChromium(t *testing.T) {
	var rates []float64
	for i := range 20 {
		rates = append(rates, float64(1000+500*i))
	}
	s := simulation{name: "sixty", kinds: []string{"bridge", "veth", "xdp"}, rates: rates, repeats: 1, seconds: 1, seed: 5}
	path := writePage(t, s.write(t, t.TempDir()))
	p := openTab(t, path, 1400, 900)
	p.settle()
	text := func(selector string) string {
		return eval[string](p, `document.querySelector("`+selector+`").textContent`)
	}

	if said := text("header .answer p"); !strings.HasPrefix(said, "1,000 pps: p50 is 9.") {
		t.Errorf("the page begins with %q", said)
	}
	legend := eval[[]string](p, `[...document.querySelectorAll("#latency .legend li")].map((li) => li.textContent)`)
	for _, kind := range s.kinds {
		if lines := len(slices.DeleteFunc(slices.Clone(legend), func(line string) bool { return !strings.HasPrefix(line, kind) })); lines != 4 {
			t.Errorf("%d lines of %s are drawn: %q", lines, kind, legend)
		}
	}
	if hint := text("#latency .hint"); hint != "12 of 60 lines are drawn, spread over kind; choose others in the table of trials." {
		t.Errorf("the hint is %q", hint)
	}
	t.Run("each entry of the contents leads to a section", func(t *testing.T) {
		missing := eval[[]string](p, `[...document.querySelectorAll(".contents a")].map((a) => a.getAttribute("href")).filter((href) => document.querySelector(href)?.tagName !== "SECTION")`)
		sections := eval[int](p, `document.querySelectorAll("section").length`)
		if entries := eval[int](p, `document.querySelectorAll(".contents a").length`); len(missing) > 0 || entries != sections {
			t.Errorf("%d entries for %d sections; %q lead nowhere", entries, sections, missing)
		}
	})
	t.Run("a table says that it has more rows, and shows them", func(t *testing.T) {
		height := func() int { return eval[int](p, `document.querySelector("#trials-table .scroll").clientHeight`) }
		before := height()
		if said := text("#trials-table .cut"); said != "60 rows: scroll in the table, orShow all 60 rows" {
			t.Errorf("below the table stands %q", said)
		}
		p.run(chromedp.Click("#trials-table .cut button", chromedp.ByQuery))
		p.settle()
		if after := height(); after < 2*before || text("#trials-table .cut") != "Show fewer rows" {
			t.Errorf("the table was %d pixels high, and is %d with all rows; below it stands %q", before, after, text("#trials-table .cut"))
		}
		if shown := eval[bool](p, `document.querySelector("#baseline-table .cut").hidden`); !shown && eval[int](p, `document.querySelectorAll("#baseline-table tbody tr").length`) < 10 {
			t.Error("a table that is whole says that it is not")
		}
	})
	t.Run("what says nothing is not drawn", func(t *testing.T) {
		if drawn := eval[int](p, `document.querySelectorAll("#figure-rate, #rate-chart, #offered-chart").length`); drawn != 0 {
			t.Errorf("%d plots of rates, where nothing was lost", drawn)
		}
		if said := text("#rates .lead"); !strings.Contains(said, "every one of them arrived") {
			t.Errorf("the section says %q", said)
		}
	})
	t.Run("kinds have markers besides colours", func(t *testing.T) {
		marks := eval[[]string](p, `[...document.querySelectorAll("#latency .legend .swatch")].map((svg) => svg.lastElementChild.tagName + (svg.lastElementChild.getAttribute("points") ?? ""))`)
		slices.Sort(marks)
		if kinds := slices.Compact(marks); len(kinds) != len(s.kinds) {
			t.Errorf("%d markers for %d kinds", len(kinds), len(s.kinds))
		}
	})
	p.run(chromedp.EmulateViewport(400, 900))
	p.settle()
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("a page of 400 pixels scrolls sideways: %d", wide)
	}
	p.quiet(path)
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// inked counts the pixels of a figure's canvas with a colour near one of the series', which only
// drawn lines and points have.
const inked = `(id) => {
  const canvas = document.querySelector(id + " canvas");
  if (!canvas) return 0;
  // A copy is read, since Chromium complains of a canvas that is read twice.
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [r, g, b, a] = [data[i], data[i + 1], data[i + 2], data[i + 3]];
    if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 60) count++;
  }
  return count;
}`

func (p *tab) ink(id string) int {
	p.t.Helper()
	return eval[int](p, fmt.Sprintf("(%s)(%q)", inked, id))
}

var figures = []string{"#percentiles", "#outliers-chart", "#rate-chart", "#offered-chart"}

func TestPageInChromium(t *testing.T) {
	path := writePage(t, quickstartSimulation().write(t, t.TempDir()))
	p := openTab(t, path, 1320, 900)
	p.settle()

	t.Run("every figure is drawn", func(t *testing.T) {
		for _, id := range figures {
			if ink := p.ink(id); ink < 100 {
				t.Errorf("%s has %d coloured pixels", id, ink)
			}
		}
		if title := eval[string](p, "document.title"); title != "quickstart · nines" {
			t.Errorf("the title is %q", title)
		}
		if rows := eval[int](p, `document.querySelectorAll("#trials-table tbody tr").length`); rows != 9 {
			t.Errorf("%d rows, want one for each of the 9 combinations", rows)
		}
	})
	p.screenshot("wide-light")

	t.Run("a line can be taken out and put back", func(t *testing.T) {
		before := p.ink("#percentiles")
		p.run(chromedp.Click("#check-g0", chromedp.ByID))
		p.settle()
		without := p.ink("#percentiles")
		if without >= before {
			t.Errorf("%d coloured pixels with all lines, %d without one", before, without)
		}
		if pressed := eval[string](p, `document.querySelector('.legend [data-key="g0"]').getAttribute("aria-pressed")`); pressed != "false" {
			t.Errorf("the legend says %q", pressed)
		}
		p.run(chromedp.Click(`.legend [data-key="g0"]`, chromedp.ByQuery))
		p.settle()
		if again := p.ink("#percentiles"); again != before {
			t.Errorf("%d coloured pixels after putting it back, %d before", again, before)
		}
	})

	t.Run("filters by variable", func(t *testing.T) {
		p.run(chromedp.Click(`[id="filter-links.*.kind-bridge"]`, chromedp.ByQuery))
		p.settle()
		if rows := eval[string](p, `document.querySelector("#trials-table tbody").textContent`); strings.Contains(rows, "bridge") || !strings.Contains(rows, "xdp") {
			t.Errorf("without bridge the table has %q", rows)
		}
		p.run(chromedp.Click(`[id="filter-links.*.kind-bridge"]`, chromedp.ByQuery))
		p.settle()
	})

	t.Run("repeats one by one", func(t *testing.T) {
		p.run(chromedp.Click(`[data-value="each"]`, chromedp.ByQuery))
		p.settle()
		if rows := eval[int](p, `document.querySelectorAll("#trials-table tbody tr").length`); rows != 27 {
			t.Errorf("%d rows, want one for each of the 27 trials", rows)
		}
		p.run(chromedp.Click(`[data-value="together"]`, chromedp.ByQuery))
		p.settle()
	})

	t.Run("hovering tells values", func(t *testing.T) {
		p.run(chromedp.ScrollIntoView("#percentiles"))
		box := eval[[]float64](p, `(() => { const b = document.querySelector("#percentiles .u-over").getBoundingClientRect(); return [b.left + b.width * 0.5, b.top + b.height * 0.5]; })()`)
		p.run(chromedp.MouseEvent("mouseMoved", box[0], box[1]))
		p.settle()
		tip := eval[string](p, `document.querySelector("#percentiles .tip").hidden ? "" : document.querySelector("#percentiles .tip").textContent`)
		for _, want := range []string{"99.", "µs", "xdp", "is slower"} {
			if !strings.Contains(tip, want) {
				t.Errorf("the tip %q lacks %q", tip, want)
			}
		}
		p.screenshot("hover")
	})

	t.Run("arrow keys tell values", func(t *testing.T) {
		p.run(chromedp.Focus("#percentiles"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
		p.settle()
		said := eval[string](p, `document.querySelector("#percentiles [aria-live]").textContent`)
		if !strings.HasPrefix(said, "20") || !strings.Contains(said, "µs") { // one tenth of a decade: 1 − 10^−0.1
			t.Errorf("a screen reader hears %q", said)
		}
		p.run(chromedp.Focus("#outliers-chart"), chromedp.KeyEvent(kb.End))
		p.settle()
		if said := eval[string](p, `document.querySelector("#outliers-chart [aria-live]").textContent`); !strings.Contains(said, "due at") {
			t.Errorf("a screen reader hears %q", said)
		}
	})

	t.Run("send lag and baseline can be chosen", func(t *testing.T) {
		before := p.ink("#percentiles")
		p.run(chromedp.Click(`[data-value="send_lag"]`, chromedp.ByQuery))
		p.settle()
		if lag := p.ink("#percentiles"); lag == before || lag < 200 {
			t.Errorf("%d coloured pixels for the latency, %d for the send lag", before, lag)
		}
		p.run(chromedp.Click(`[data-value="latency"]`, chromedp.ByQuery), chromedp.Click("#gaps", chromedp.ByID))
		p.settle()
	})

	t.Run("loss is seen over time", func(t *testing.T) {
		p.run(chromedp.Click("#share", chromedp.ByID))
		p.settle()
		box := eval[[]float64](p, `(() => { const c = document.querySelector("#rate-chart"); c.scrollIntoView({ block: "center" }); const b = c.querySelector(".u-over").getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`)
		p.run(chromedp.MouseEvent("mouseMoved", box[0], box[1]))
		p.settle()
		if tip := eval[string](p, `document.querySelector("#rate-chart .tip").textContent`); !strings.Contains(tip, "of 100,000, 99.96") || !strings.Contains(tip, "100 %") {
			t.Errorf("the tip is %q", tip)
		}
		p.screenshot("loss")
		p.run(chromedp.Click("#share", chromedp.ByID))
		p.settle()
	})

	t.Run("tables sort and copy", func(t *testing.T) {
		column := func() []string {
			return eval[[]string](p, `[...document.querySelectorAll("#trials-table tbody tr")].map((row) => row.children[9].textContent)`)
		}
		head := `#trials-table thead th:nth-child(10) button`
		if name := eval[string](p, fmt.Sprintf("document.querySelector(%q).textContent", head)); name != "meanµs" {
			t.Fatalf("the tenth column is %q", name)
		}
		unsorted := column()
		p.run(chromedp.Click(head, chromedp.ByQuery), chromedp.Click(head, chromedp.ByQuery))
		down := column()
		if !descending(down) || descending(unsorted) {
			t.Errorf("sorted %v, before %v", down, unsorted)
		}
		p.run(browser.SetPermission(&browser.PermissionDescriptor{Name: "clipboard-write"}, browser.PermissionSettingGranted),
			browser.SetPermission(&browser.PermissionDescriptor{Name: "clipboard-read"}, browser.PermissionSettingGranted),
			page.BringToFront(), chromedp.Click("#trials-table .copy", chromedp.ByQuery))
		p.settle()
		lines := strings.Split(strings.TrimRight(eval[string](p, "navigator.clipboard.readText()"), "\n"), "\n")
		if len(lines) != 10 {
			t.Fatalf("%d lines were copied, want a heading and 9 rows: %q", len(lines), lines)
		}
		if !strings.HasPrefix(lines[0], "kind\trate_pps\trepeat\tverdict\toffered (pps)\t") {
			t.Errorf("the heading is %q", lines[0])
		}
		if first := strings.Split(lines[1], "\t"); first[0] != "bridge" || len(first) != len(strings.Split(lines[0], "\t")) {
			t.Errorf("the first row is %q", lines[1])
		}
	})

	t.Run("dark", func(t *testing.T) {
		background := func() string { return eval[string](p, "getComputedStyle(document.body).backgroundColor") }
		light := background()
		p.run(chromedp.Click("#theme", chromedp.ByID))
		p.settle()
		if dark := background(); dark == light {
			t.Errorf("the background is %s in both", dark)
		}
		for _, id := range figures {
			if ink := p.ink(id); ink < 100 {
				t.Errorf("%s has %d coloured pixels in the dark", id, ink)
			}
		}
		p.screenshot("wide-dark")
	})

	t.Run("narrow", func(t *testing.T) {
		p.run(chromedp.EmulateViewport(390, 844))
		p.settle()
		p.settle()
		if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("a page of 390 pixels scrolls sideways: %d", wide)
		}
		p.screenshot("narrow-dark")
		p.run(chromedp.Click("#theme", chromedp.ByID))
		p.settle()
		p.screenshot("narrow-light")
		p.run(chromedp.EmulateViewport(1320, 900))
	})

	t.Run("paper", func(t *testing.T) {
		p.run(chromedp.Click("#theme", chromedp.ByID), emulation.SetEmulatedMedia().WithMedia("print"))
		eval[bool](p, `(window.dispatchEvent(new Event("beforeprint")), true)`)
		p.settle()
		if theme := eval[string](p, "document.documentElement.dataset.theme"); theme != "light" {
			t.Errorf("the page prints %s", theme)
		}
		if shown := eval[string](p, `getComputedStyle(document.querySelector(".controls")).display`); shown != "none" {
			t.Error("the controls are printed")
		}
		p.screenshot("print")
	})

	p.quiet(path)
}

func descending(texts []string) bool {
	last := 1e300
	for _, text := range texts {
		var value float64
		if _, err := fmt.Sscan(strings.ReplaceAll(text, ",", ""), &value); err != nil || value > last {
			return false
		}
		last = value
	}
	return len(texts) > 1
}

// TestPacketsInChromium: the page has a line for all packets and each shown flow, and says why a
// record is incomplete.
func TestPacketsInChromium(t *testing.T) {
	p := openTab(t, writePage(t, packetResult(t).Dir), 1320, 900)
	p.settle()
	if rows := eval[int](p, `document.querySelectorAll("#packet-table tbody tr:not(.below)").length`); rows != 1+maxTrialFlows+1 {
		t.Errorf("%d rows", rows)
	}
	text := eval[string](p, `document.querySelector("#packet-table").textContent`)
	for _, want := range []string{"56.8", "metrics.json has 36 more flows", "the record of packets sent lacks 9"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the table: %s", want, text)
		}
	}
	// All columns have room on a usual screen, and the sentences on a telephone.
	p.run(chromedp.EmulateViewport(1280, 900))
	p.settle()
	if cut := eval[int](p, `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("#packet-table .scroll"))`); cut > 0 {
		t.Errorf("%d pixels of the table are cut off", cut)
	}
	p.run(chromedp.EmulateViewport(420, 900))
	p.settle()
	for _, table := range []string{"packet-table", "tail-table"} {
		ends := eval[[]float64](p, `[...document.querySelectorAll("#`+table+` .below div")].map((div) => div.getBoundingClientRect().right)`)
		if len(ends) == 0 {
			t.Errorf("%s has no sentence", table)
		}
		for _, end := range ends {
			if end > 420 {
				t.Errorf("%s: a sentence ends at pixel %.0f of 420", table, end)
			}
		}
	}
}

// TestAxesHaveLabels reads what the figures write on their axes: a range that has no power of ten in
// it has labels, too, and the percentiles have the median.
func TestAxesHaveLabels(t *testing.T) {
	s := simulation{name: "single", kinds: []string{"bridge"}, rates: []float64{300_000}, repeats: 2, seconds: 1, seed: 3} // loses some
	p := openTab(t, writePage(t, s.write(t, t.TempDir())), 1320, 900)
	p.settle()
	eval[bool](p, `(() => {
		window.written = {};
		const fill = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
			(window.written[this.canvas.closest(".chart")?.id ?? ""] ??= []).push(text);
			return fill.call(this, text, ...rest);
		};
		return true;
	})()`)
	p.run(chromedp.EmulateViewport(1280, 900)) // the figures are redrawn
	p.settle()
	for chart, wants := range map[string][]string{"percentiles": {"0 %", "50 %", "90 %", "99 %"}, "offered-chart": {"300,000", "400,000"}} {
		// The first drawing may come before the canvas is in the page, under no name.
		written := eval[[]string](p, `[...(window.written["`+chart+`"] ?? []), ...(window.written[""] ?? [])]`)
		for _, want := range wants {
			if !slices.Contains(written, want) {
				t.Errorf("%s has no label %q; it has %q", chart, want, written)
			}
		}
	}
}

// TestTheSpreadOfRepeatsIsOnThePage: as in the table of nines report.
func TestTheSpreadOfRepeatsIsOnThePage(t *testing.T) {
	s := simulation{name: "spread", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 3, seconds: 2, seed: 3}
	dir := s.write(t, t.TempDir())
	r, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := intervalCell(Groups(r.Shown())[0], LatencyFigure("p99")).Text
	p := openTab(t, writePage(t, dir), 1320, 900)
	p.settle()
	if heads := eval[string](p, `document.querySelector("#trials-table thead").textContent`); !strings.Contains(heads, "p99 intervalµs") {
		t.Errorf("the headings are %s", heads)
	}
	if got := eval[string](p, `document.querySelector("#trials-table tbody tr").lastChild.textContent`); got != want || want == terminal.None {
		t.Errorf("the p99 interval is %s, want %s", got, want)
	}
}

func TestSystemPreferenceForDark(t *testing.T) {
	path := writePage(t, simulation{name: "dark", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 1, seconds: 1, seed: 3}.write(t, t.TempDir()))
	p := openTab(t, path, 900, 700)
	p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.settle()
	if theme := eval[string](p, "document.documentElement.dataset.theme"); theme != "dark" {
		t.Errorf("the theme is %q where the system prefers dark", theme)
	}
	p.quiet(path)
}

// TestTextsOfTheResultAreNotMarkup: names and files may come from anyone.
func TestTextsOfTheResultAreNotMarkup(t *testing.T) {
	evil := `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`
	s := simulation{name: evil, kinds: []string{evil, "veth"}, rates: []float64{1000}, repeats: 2, seconds: 1, seed: 2}
	path := writePage(t, s.write(t, t.TempDir()))
	p := openTab(t, path, 1000, 800)
	p.settle()
	if pwned := eval[bool](p, "window.pwned !== undefined"); pwned {
		t.Error("a name was executed")
	}
	if heading := eval[string](p, `document.querySelector("h1").textContent`); heading != evil {
		t.Errorf("the heading is %q", heading)
	}
	if images := eval[int](p, `document.querySelectorAll("img").length`); images != 0 {
		t.Errorf("%d images were made of texts", images)
	}
	p.quiet(path)
}

package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nines.dev/nines/result"
)

// tip is the text of a figure's tooltip.
func (p *tab) tip(id string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`(() => { const t = document.querySelector("%s .tip"); return t.hidden ? "" : t.textContent; })()`, id))
}

// copied presses a table's button and returns the copied lines.
func (p *tab) copied(table string) []string {
	p.t.Helper()
	p.run(browser.SetPermission(&browser.PermissionDescriptor{Name: "clipboard-write"}, browser.PermissionSettingGranted),
		browser.SetPermission(&browser.PermissionDescriptor{Name: "clipboard-read"}, browser.PermissionSettingGranted),
		page.BringToFront(), chromedp.Click(table+" .copy", chromedp.ByQuery))
	p.settle()
	return strings.Split(strings.TrimRight(eval[string](p, "navigator.clipboard.readText()"), "\n"), "\n")
}

func TestRatesAndSizesInChromium(t *testing.T) {
	dir := comparison{name: "figure-2", kinds: []string{"bridge", "switch", "testpmd", "memif"}, sizes: []float64{64, 512},
		rates: []float64{1e5, 1e6, 2e6, 4e6, 6e6, 8e6, 10e6, 12e6},
		published: []result.Published{
			{Source: "Ara et al., section 3", Figure: result.FigureSize, Series: "every switch with DPDK (over 5 Mpps)", Points: [][2]float64{{64, 5e6}}},
			{Source: "Ara et al., table 1", Figure: result.FigureSize, Series: "bridge (raw, sendmmsg)", Points: [][2]float64{{64, 594_000}}},
		},
		skipped: []result.Skipped{{Variables: map[string]any{"links.*.kind": "vpp"}, Reason: "vpp is not installed"}},
	}.write(t, t.TempDir())
	path := writePage(t, dir)
	p := openTab(t, path, 1320, 900)
	p.settle()
	drawn := []string{"#figure-rate", "#figure-size", "#figure-load-p50", "#figure-load-p99", "#figure-load-p99_99"}
	inked := map[string]int{}
	for _, id := range drawn {
		if inked[id] = p.ink(id); inked[id] < 100 {
			t.Errorf("%s has %d coloured pixels", id, inked[id])
		}
	}
	t.Run("all combinations are drawn, also those whose box is not checked", func(t *testing.T) {
		p.run(chromedp.Focus("#figure-rate"), chromedp.KeyEvent(kb.End))
		p.settle()
		// The last point is 12 Mpps, which only comes after the first twelve lines.
		if said := p.tip("#figure-rate"); !strings.Contains(said, "12,000,000 pps") {
			t.Errorf("the last point is %q", said)
		}
	})
	t.Run("published points are rings with a source", func(t *testing.T) {
		p.run(chromedp.Focus("#figure-size"), chromedp.KeyEvent(kb.Home))
		seen := ""
		for range 12 {
			p.settle()
			seen += p.tip("#figure-size") + "\n"
			p.run(chromedp.KeyEvent(kb.ArrowRight))
		}
		for _, want := range []string{"not measured here", "Ara et al., table 1", "594,000 pps", "64 bytes", "over 5 Mpps"} {
			if !strings.Contains(seen, want) {
				t.Errorf("the figure's points do not say %q: %s", want, seen)
			}
		}
		legend := eval[string](p, `document.querySelector("#figure-size-section .legend").textContent`)
		if !strings.Contains(legend, "bridge (raw, sendmmsg), published: Ara et al., table 1") || !strings.Contains(legend, "memif") {
			t.Errorf("the legend is %q", legend)
		}
	})
	t.Run("filters take points out", func(t *testing.T) {
		p.run(chromedp.Click(`[id="filter-links.*.kind-memif"]`, chromedp.ByQuery))
		p.settle()
		if without := p.ink("#figure-rate"); without >= inked["#figure-rate"] {
			t.Errorf("%d coloured pixels with memif, %d without", inked["#figure-rate"], without)
		}
		p.run(chromedp.Click(`[id="filter-links.*.kind-memif"]`, chromedp.ByQuery))
		p.settle()
	})
	t.Run("values copy", func(t *testing.T) {
		p.run(chromedp.Click("#figure-size-section summary", chromedp.ByQuery))
		p.settle()
		lines := p.copied("#values-size")
		if len(lines) != 1+4*2+2 || !strings.HasPrefix(lines[0], "series\tframe in bytes") || !strings.HasPrefix(lines[1], "bridge\t64\t") {
			t.Errorf("copied %q", lines)
		}
	})
	t.Run("what was not measured is told", func(t *testing.T) {
		if text := eval[string](p, `document.querySelector("#skipped-table").textContent`); !strings.Contains(text, "vpp is not installed") {
			t.Errorf("the table says %q", text)
		}
	})
	p.screenshot("figures-light")
	p.run(chromedp.Click("#theme", chromedp.ByID))
	p.settle()
	for _, id := range drawn {
		if ink := p.ink(id); ink < 100 {
			t.Errorf("%s has %d coloured pixels in the dark", id, ink)
		}
	}
	p.screenshot("figures-dark")
	p.run(chromedp.EmulateViewport(390, 844))
	p.settle()
	p.settle()
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("a page of 390 pixels scrolls sideways: %d", wide)
	}
	p.screenshot("figures-narrow")
	p.quiet(path)
}

func TestMaximaAndLoadsInChromium(t *testing.T) {
	published := append([]result.Published{
		{Source: "nobody", Figure: result.FigureLatency, Series: "made up", Points: [][2]float64{{2, 5_000}, {10_000, 90_000}}}}, publishedTable1...)
	dir := comparison{name: "latency", kinds: []string{"bridge", "switch", "testpmd", "memif"}, sizes: []float64{64},
		fractions: []float64{0.1, 0.5, 0.9}, repeats: 3, published: published}.write(t, t.TempDir())
	path := writePage(t, dir)
	p := openTab(t, path, 1320, 900)
	p.settle()
	for _, id := range []string{"#percentiles", "#figure-load-p50", "#figure-load-p99", "#figure-load-p99_99"} {
		if ink := p.ink(id); ink < 100 {
			t.Errorf("%s has %d coloured pixels", id, ink)
		}
	}
	t.Run("bars are as long as their values", func(t *testing.T) {
		widths := eval[[]float64](p, `[...document.querySelectorAll("#maximum-table .bar.ours")].map((b) => b.getBoundingClientRect().width)`)
		if len(widths) != 4 || !(widths[3] > widths[1] && widths[1] > widths[2] && widths[2] > 5*widths[0]) {
			t.Errorf("bars of bridge, switch, testpmd, memif are %v pixels long", widths)
		}
		lines := p.copied("#maximum-table")
		if len(lines) != 6 || !strings.HasPrefix(lines[1], "bridge\t406976") || !strings.HasSuffix(lines[1], "bridge (raw sockets)") || !strings.Contains(lines[5], "tin cans") {
			t.Errorf("copied %q", lines)
		}
	})
	t.Run("load in per cent or packets", func(t *testing.T) {
		tip := func() string {
			p.run(chromedp.Focus("#figure-load-p99"), chromedp.KeyEvent(kb.Home))
			p.settle()
			return p.tip("#figure-load-p99")
		}
		if said := tip(); !strings.Contains(said, "load in % of the maximum") || !strings.Contains(said, "10.0 %") {
			t.Errorf("the first point is %q", said)
		}
		p.run(chromedp.Click(`[data-value="pps"]`, chromedp.ByQuery))
		p.settle()
		if said := tip(); !strings.Contains(said, "offered packets a second") {
			t.Errorf("the first point is %q", said)
		}
	})
	t.Run("a published curve is in the percentiles", func(t *testing.T) {
		p.run(chromedp.Focus("#percentiles"), chromedp.KeyEvent(kb.Home))
		seen := false
		for range 6 {
			p.run(chromedp.KeyEvent(kb.ArrowUp))
			p.settle()
			seen = seen || strings.Contains(p.tip("#percentiles"), "published: made up")
		}
		if !seen {
			t.Error("no tip has the published curve")
		}
	})
	p.screenshot("maxima-light")
	p.quiet(path)
}

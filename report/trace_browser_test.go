package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nines.dev/nines/result"
)

// tracedPage is a page of a made-up trial with one packet of known causes.
func tracedPage(t *testing.T, in traceInput) string {
	t.Helper()
	r, err := result.Open(simulation{name: "traced", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 1, seconds: 1, seed: 4}.write(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	data := newPageData(r, nil)
	data.Traces = []pageTrace{newPageTrace(in)}
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.write(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestALatePacketIsSeenInChromium(t *testing.T) {
	in := tracedInput()
	second := in.causes.Packets[0]
	second.ID, second.LatencyNs = 8, 255_000
	in.causes.Packets = append(in.causes.Packets, second)
	path := tracedPage(t, in)
	p := openTab(t, path, 1320, 900)
	p.settle()
	text := func(selector string) string {
		return eval[string](p, `document.querySelector('`+selector+`')?.textContent ?? ""`)
	}
	has := func(t *testing.T, where, text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q: %s", where, want, text)
			}
		}
	}

	t.Run("causes are ranked", func(t *testing.T) {
		has(t, "the ranking", text("#cause-table tbody tr:nth-child(1)"), "higher-priority thread hog, CPU 1", "199", "× 12.5", "The FIFO thread hog ran", "nines tune apply")
		has(t, "the section", text("#causes"), "a note on <b>the recording</b>")
		has(t, "the stages", text("#stage-table tbody"), "send", "driver", "tx")
		has(t, "the recorder", text("#recorder-table tbody"), "120,000", "900", "4.00 MiB")
	})

	t.Run("a click shows the timeline", func(t *testing.T) {
		p.run(chromedp.Click("#late-table tbody tr:nth-child(1)", chromedp.ByQuery))
		p.settle()
		has(t, "the timeline", text("#timeline"), "CPU 1", "sender", "CPU 0", "receiver", "send wait 200 µs", "hog", "NET_RX", "µs since the packet was due", "interrupt sent")
		// 6 on the sender's CPU and 4 on the receiver's have a length.
		if bars := eval[int](p, `document.querySelectorAll("#timeline .lanes rect.ev").length`); bars != 9 {
			t.Errorf("%d bars", bars)
		}
		if marks := eval[int](p, `document.querySelectorAll("#timeline .lanes path.mk").length`); marks != 2 {
			t.Errorf("%d marks", marks)
		}
		// The timer lies within the interrupt, and the interrupt within the thread.
		if rows := eval[[]float64](p, `["thread", "interrupt", "timer"].map((c) => Number(document.querySelector("#timeline .lanes rect." + c).getAttribute("y")))`); !(rows[0] < rows[1] && rows[1] < rows[2]) {
			t.Errorf("they lie at %v", rows)
		}
		has(t, "its causes", text("#late-causes"), "send wait", "higher-priority thread hog, CPU 1", "199", "unexplained", "10.0", "an ordinary packet takes", "9.00")
		if current := eval[int](p, `document.querySelectorAll('#late-table tr[aria-current="true"]').length`); current != 1 {
			t.Errorf("%d rows are chosen", current)
		}
		p.picture("#causes", "timeline-light")
	})

	t.Run("hovering tells name, begin and length", func(t *testing.T) {
		box := eval[[]float64](p, `(() => { const b = document.querySelector("#timeline .lanes rect.softirq").getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`)
		p.run(chromedp.MouseEvent("mouseMoved", box[0], box[1]))
		p.settle()
		has(t, "the tip", eval[string](p, `document.querySelector("#timeline .tip").hidden ? "" : document.querySelector("#timeline .tip").textContent`),
			"softirq NET_RX", "210 µs after the packet was due", "30.0 µs")
		p.picture("#causes", "timeline-hover")
	})

	t.Run("the keyboard does the same", func(t *testing.T) {
		p.run(chromedp.Focus("#late-table tbody tr:nth-child(1)", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
		p.settle()
		has(t, "the heading", text("#late h3"), "Packet 8 of trial 0001", "255 µs")
		p.run(chromedp.Focus("#timeline"), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
		p.settle()
		has(t, "what a screen reader hears", text("#timeline [aria-live]"), "begins", "CPU")
		p.run(chromedp.KeyEvent(kb.End))
		p.settle()
		has(t, "what a screen reader hears", text("#timeline [aria-live]"), "thread nines-sink", "215 µs after", "length 300 µs")
	})

	t.Run("it zooms", func(t *testing.T) {
		width := func() float64 {
			return eval[float64](p, `document.querySelector("#timeline .lanes rect.softirq").getBoundingClientRect().width`)
		}
		before := width()
		p.run(chromedp.Focus("#timeline"), chromedp.KeyEvent("+"))
		p.settle()
		if after := width(); after < 1.9*before || after > 2.1*before {
			t.Errorf("a softirq of %v pixels is %v wide in half of the stretch", before, after)
		}
		p.run(chromedp.KeyEvent("0"))
		p.settle()
		if after := width(); after != before {
			t.Errorf("all of the stretch has a softirq of %v pixels, and had %v", after, before)
		}
	})

	t.Run("dark and narrow", func(t *testing.T) {
		p.run(chromedp.Click("#theme", chromedp.ByID))
		p.settle()
		p.run(chromedp.ScrollIntoView("#timeline"))
		p.picture("#causes", "timeline-dark")
		p.run(chromedp.EmulateViewport(400, 844))
		p.settle()
		p.settle()
		if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 400 {
			t.Errorf("a page of 400 pixels scrolls sideways: %d", wide)
		}
		if wide := eval[float64](p, `document.querySelector("#timeline .lanes svg").getBoundingClientRect().right`); wide > 400 {
			t.Errorf("the timeline ends at %v of 400 pixels", wide)
		}
		p.picture("#causes", "timeline-narrow")
	})
	p.quiet(path)
}

// TestAPageWithoutATrace has no section of causes.
func TestAPageWithoutATrace(t *testing.T) {
	path := writePage(t, simulation{name: "plain", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 1, seconds: 1, seed: 3}.write(t, t.TempDir()))
	p := openTab(t, path, 900, 700)
	p.settle()
	if eval[bool](p, `document.querySelector("#causes") !== null || document.querySelector("#outliers") === null`) {
		t.Error("a section of causes is there, or the rest is not")
	}
	p.quiet(path)
}

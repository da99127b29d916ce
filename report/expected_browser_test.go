package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

var threeExpected = []Expected{
	{Expectation: "p50 < 100us", Decision: "holds", Because: []string{"kind=veth: holds: p50 is 7.10 µs (7.05 to 7.16), of 600,000 packets of 3 trials"}},
	{Expectation: "p99.9 < 20us", Decision: "violated", Because: []string{"kind=veth: violated: p99.9 is 31 µs (28 to 34), of 600,000 packets of 3 trials"}},
	{Expectation: "loss == 0 where <kind>=xdp", Decision: "undecided", Because: []string{"no trial was measured"}},
}

// TestExpectationsOnThePage: the decisions stand below the answer, each with its reasons; a browser that runs no script
// shows them and the answer as well.
func TestExpectationsOnThePage(t *testing.T) {
	r, err := result.Open(quickstartSimulation().write(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := WritePageOf(r, &page, PageOptions{Expected: threeExpected}); err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(page.String(), "<noscript>")
	said, _, _ = strings.Cut(said, "</noscript>")
	for _, want := range append([]string{"<h1>quickstart</h1>", "<h2>p50 &lt; 100us: holds</h2>", "where &lt;kind&gt;=xdp: undecided", "<p>no trial was measured</p>"}, pageAnswer(r)[0]) {
		if !strings.Contains(said, want) {
			t.Errorf("a browser without scripts does not show %q:\n%s", want, said)
		}
	}
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p := openTab(t, path, 1320, 900)
	p.settle()
	texts := eval[[]string](p, `[...document.querySelectorAll(".expected li")].map((one) => one.innerText)`)
	if len(texts) != 3 || !strings.Contains(texts[1], "violated p99.9 < 20us") || !strings.Contains(texts[1], "31 µs (28 to 34)") {
		t.Errorf("%q", texts)
	}
	p.picture("header", "expectations")
	p.quiet(path)
}

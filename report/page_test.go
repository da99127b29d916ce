package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// dataOf extracts the data from a page, as a browser does.
func dataOf(t *testing.T, html []byte) pageData {
	t.Helper()
	_, rest, found := bytes.Cut(html, []byte(`<script type="application/json" id="data">`))
	if !found {
		t.Fatal("the page has no data element")
	}
	raw, _, _ := bytes.Cut(rest, []byte("</script>"))
	var data pageData
	if err := json.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPageHoldsTheWholeResult(t *testing.T) {
	dir := quickstartSimulation().write(t, t.TempDir())
	var page bytes.Buffer
	if err := WritePage(dir, &page); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 3<<20 {
		t.Errorf("the page of 27 trials has %d bytes", page.Len())
	}
	data := dataOf(t, page.Bytes())
	r, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(data.Trials) != 27 || len(data.Groups) != 9 || len(data.Baselines) != 3 || len(data.Problems) != 0 {
		t.Fatalf("%d trials, %d groups, %d baselines, problems %v", len(data.Trials), len(data.Groups), len(data.Baselines), data.Problems)
	}
	for i, trial := range data.Trials {
		h, err := r.TrialFolder(trial.ID).Histograms()
		if err != nil {
			t.Fatal(err)
		}
		checkCurve(t, trial.ID, trial.Curves.Latency, h.Latency)
		if i == 0 && (len(trial.Outliers) == 0 || trial.OutliersAll < len(trial.Outliers) || len(trial.Rate) != 10) {
			t.Errorf("trial %s has %d of %d outliers and %d rows of rates", trial.ID, len(trial.Outliers), trial.OutliersAll, len(trial.Rate))
		}
	}
	group := data.Groups[0]
	if group.Curves.Latency.Count != data.Trials[0].RxPackets*3 {
		t.Errorf("the group's curve is of %d packets, its three trials have %d each", group.Curves.Latency.Count, data.Trials[0].RxPackets)
	}
}

// checkCurve: each thinned point is true for the histogram, and between points the curve deviates
// less than the eye can see.
func checkCurve(t *testing.T, name string, curve *Curve, h *result.Histogram) {
	t.Helper()
	full := h.Curve()
	last := len(curve.ValueNs) - 1
	if curve.Count != h.Count() || curve.ValueNs[last] != full[len(full)-1].ValueNs {
		t.Errorf("%s: the curve is of %d samples to %d ns", name, curve.Count, curve.ValueNs[last])
	}
	if len(curve.Below) > 1000 {
		t.Errorf("%s: the curve has %d points", name, len(curve.Below))
	}
	at, below := 0, uint64(0)
	for _, point := range full {
		for at < last && curve.Below[at+1] <= below {
			at++
		}
		if off := math.Abs(math.Log10(float64(point.ValueNs) / float64(curve.ValueNs[at]))); off > 2*curveHeightDecades {
			t.Errorf("%s: from rank %d the histogram has %d ns, the curve %d ns", name, below, point.ValueNs, curve.ValueNs[at])
			return
		}
		below = point.Count
	}
}

func TestPageTellsWhatIsMissing(t *testing.T) {
	dir := simulation{name: "broken", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 2, seconds: 1, seed: 5}.write(t, t.TempDir())
	trial := filepath.Join(dir, "trials", "0001")
	if err := os.Remove(filepath.Join(trial, result.HlogFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(trial, result.DetailsFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, result.HostFile), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := WritePage(dir, &page); err != nil {
		t.Fatal(err)
	}
	data := dataOf(t, page.Bytes())
	all := strings.Join(data.Problems, "\n")
	for _, want := range []string{"trials/0001/latency.hlog is missing", "trials/0001/details.json is damaged", "host.json is damaged"} {
		if !strings.Contains(all, want) {
			t.Errorf("the problems lack %q:\n%s", want, all)
		}
	}
	if len(data.Problems) != 3 || data.Trials[0].Details != nil || data.Trials[1].Details == nil {
		t.Errorf("problems: %s", all)
	}
}

func TestPageOfNoResultIsAnError(t *testing.T) {
	if err := WritePage(t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "is not a result folder") {
		t.Errorf("%v", err)
	}
}

func TestPageOfHundredsOfTrialsStaysSmall(t *testing.T) {
	s := simulation{name: "large", repeats: 10, seconds: 1, seed: 7}
	for kind := range 3 {
		s.kinds = append(s.kinds, []string{"bridge", "veth", "xdp"}[kind])
	}
	for rate := range 10 {
		s.rates = append(s.rates, float64(1000*(rate+1)))
	}
	var page bytes.Buffer
	if err := WritePage(s.write(t, t.TempDir()), &page); err != nil {
		t.Fatal(err)
	}
	data := dataOf(t, page.Bytes())
	if len(data.Trials) != 300 || page.Len() > 16<<20 {
		t.Errorf("the page of %d trials has %d bytes", len(data.Trials), page.Len())
	}
}

// TestAPageOfThousandsOfTrialsIsCut: someone else's result may have any number of trials. The page
// has as many as its limit, says so, and reads no more than these.
func TestAPageOfThousandsOfTrialsIsCut(t *testing.T) {
	dir := simulation{name: "large", kinds: []string{"veth", "xdp"}, rates: []float64{1000, 2000}, repeats: 3, seconds: 1, seed: 7}.write(t, t.TempDir())
	r, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cut := firstTrials(r, 5)
	if len(cut.Shown()) != 5 || len(cut.Problems) != 1 || !strings.Contains(cut.Problems[0], "the first 5 of 12 trials") {
		t.Errorf("%d trials, problems %q", len(cut.Shown()), cut.Problems)
	}
	if len(r.Shown()) != 12 || len(r.Problems) > 0 {
		t.Errorf("the result itself was cut to %d trials", len(r.Shown()))
	}
	if whole := firstTrials(r, 12); len(whole.Shown()) != 12 || len(whole.Problems) > 0 {
		t.Errorf("%d of 12 trials, problems %q", len(whole.Shown()), whole.Problems)
	}
	var told []int
	page := newPageData(cut, func(done, of int) { told = append(told, done, of) })
	if len(page.Trials) != 5 || len(page.Groups) != 4 || !slices.Equal(told, []int{1, 5, 2, 5, 3, 5, 4, 5, 5, 5}) {
		t.Errorf("the page has %d trials in %d groups, and told %v", len(page.Trials), len(page.Groups), told)
	}
	for i, trial := range page.Trials {
		if trial.ID != r.Summary.Trials[i].ID || trial.Curves.Latency == nil {
			t.Errorf("trial %d of the page is %q", i, trial.ID)
		}
	}
}

// TestAPageHasAsManyProblemsAsSomebodyReads: each missing file of each trial is one.
func TestAPageHasAsManyProblemsAsSomebodyReads(t *testing.T) {
	var p pageData
	for i := range 3 * maxPageProblems {
		p.problem(fmt.Errorf("problem %04d", i/2)) // several parts of the page read the same file
	}
	p.cutProblems()
	if n := len(p.Problems); n != maxPageProblems+1 || p.Problems[n-1] != "… and 100 problems more" || p.Problems[1] != "problem 0001" {
		t.Errorf("%d problems, the last %q", n, p.Problems[n-1])
	}
}

// TestAPageHasAsMuchOfATrialAsABrowserShows: the lists of someone else's details.json and scripts
// may have anything. The page has their beginnings and says so; what fits is whole.
func TestAPageHasAsMuchOfATrialAsABrowserShows(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	h := result.NewHistogram()
	h.Record(5000)
	many, few := result.Details{FrameBytes: 64}, result.Details{FrameBytes: 65, Notes: []string{"one"}}
	var uploads []string
	for i := range 30_000 {
		many.Events = append(many.Events, result.Occurrence{What: "down", Link: "in", AtNs: int64(i)})
		many.Impairments = append(many.Impairments, result.Impairment{Link: "in", What: fmt.Sprint(i)})
		many.Devices = append(many.Devices, result.Device{Link: "in", Device: fmt.Sprint(i), Values: map[string]string{"gro": "off"}})
		many.Notes = append(many.Notes, long[:50])
		many.Receive = append(many.Receive, result.Receive{Interface: fmt.Sprint(i)})
		uploads = append(uploads, fmt.Sprintf("a long name that someone has given to the file %d", i))
	}
	many.Notes = append([]string{"first"}, many.Notes...)
	var trials []result.Record
	for i, details := range []result.Details{many, few, {Role: strings.Repeat(long, 20)}, few} {
		trials = append(trials, result.Record{
			Trial:      result.Trial{Repeat: i + 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
			Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Details: details,
		})
	}
	scripts := []result.Script{{Node: "first", Status: "0", Uploads: uploads}, {Node: "second", Status: "0", Uploads: uploads[:1]}}
	trials[0].Trial.Scripts = scripts
	trials[1].Trial.Scripts = scripts[1:]
	for range 1000 {
		trials[3].Trial.Scripts = append(trials[3].Trial.Scripts, result.Script{Node: long[:4000], Status: "0"})
	}
	var page bytes.Buffer
	if err := WritePageOf(resultOf(t, trials...), &page, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	data := dataOf(t, page.Bytes())
	cut, whole := data.Trials[0], data.Trials[1]
	if d := cut.Details; d == nil || d.FrameBytes != 64 || d.Notes[0] != "first" || d.Events[0].Link != "in" {
		t.Errorf("the beginnings of the first trial's lists are not there")
	}
	if n := len(cut.Scripts); n != 2 || len(cut.Scripts[0].Uploads) < 1000 || cut.Scripts[0].Uploads[0] != uploads[0] || len(cut.Scripts[1].Uploads) != 1 {
		t.Errorf("of the first trial there are %d scripts", n)
	}
	if whole.Details == nil || len(whole.Details.Notes) != 1 || len(whole.Scripts) != 1 || len(whole.Scripts[0].Uploads) != 1 {
		t.Errorf("what fits was cut: %+v", whole)
	}
	if data.Trials[2].Details != nil {
		t.Error("details of which nothing can be cut are on the page")
	}
	if n := len(data.Trials[3].Scripts); n == 0 || n > 200 {
		t.Errorf("of the last trial there are %d scripts", n)
	}
	if size := page.Len(); size > 5<<20 {
		t.Errorf("the page has %d bytes", size)
	}
	said := strings.Join(data.Problems, "\n")
	for _, what := range []string{"details", "devices", "events", "impairments", "notes", "receiving interfaces", "scripts", "uploads"} {
		if !strings.Contains(said, "the page has not all "+what+" of 1 trial,") {
			t.Errorf("it does not say that there are more %s:\n%s", what, said)
		}
	}
	if len(data.Problems) != 8 {
		t.Errorf("problems: %s", said)
	}
}

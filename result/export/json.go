package export

import (
	"encoding/json"
	"io"
	"time"

	"nines.dev/nines/result"
)

// DocumentSchema names the form of the JSON document.
const DocumentSchema = "nines/export/v1"

// document is everything of a result folder in one file: what was run, on what, what
// was found, and on which evidence.
type document struct {
	Schema     string             `json:"schema"`
	Name       string             `json:"name"`
	Started    time.Time          `json:"started"`
	Experiment string             `json:"experiment"` // the file as it was run, YAML
	Host       json.RawMessage    `json:"host"`
	Plan       json.RawMessage    `json:"plan"`
	Trials     []evidence         `json:"trials"`
	Searches   []result.Search    `json:"searches"`
	Skipped    []result.Skipped   `json:"skipped"`
	Baselines  []evidence         `json:"baselines"`
	Maxima     []evidence         `json:"maxima"`
	Published  []result.Published `json:"published"`
	// Problems are files that are missing or damaged, and so not in the document.
	Problems []string `json:"problems"`
}

// evidence is a trial with all its files.
type evidence struct {
	When result.When `json:"when,omitempty"` // of a baseline
	result.Trial
	Details    *result.Details  `json:"details"`
	Histograms []histogram      `json:"histograms"`
	Outliers   []result.Outlier `json:"outliers"`
	Rates      []result.Rate    `json:"rates"`
	Metrics    *result.Metrics  `json:"metrics,omitempty"`
	// Packets is the file that has every packet, below the result folder.
	Packets   string `json:"packets_file,omitempty"`
	EngineLog string `json:"engine_log,omitempty"`
}

// histogram is an interval of latency.hlog: as its encoding, which HdrHistogram's
// libraries read, and as counts, which need none.
type histogram struct {
	Series  string    `json:"series"`
	Start   time.Time `json:"start"`
	LengthS float64   `json:"length_s"`
	// Hdrh is the compressed V2 encoding in base64; values are nanoseconds.
	Hdrh string `json:"hdrh"`
	// Counts are pairs: the largest value of a bucket in ns, and how many samples.
	Counts [][2]int64 `json:"counts"`
}

// WriteJSON writes one document with all that is known of the trials, which are all
// of the result's, or some.
func WriteJSON(w io.Writer, r *result.Result, trials []result.Trial) error {
	doc := document{
		Schema: DocumentSchema, Name: r.Summary.Name, Started: r.Summary.Started,
		Trials: []evidence{}, Searches: append([]result.Search{}, r.Searches...),
		Skipped:   append([]result.Skipped{}, r.Summary.Skipped...),
		Baselines: []evidence{}, Maxima: []evidence{},
		Published: append([]result.Published{}, r.Published...),
		Problems:  append([]string{}, r.Problems...),
	}
	problem := func(err error) {
		if err != nil {
			doc.Problems = append(doc.Problems, err.Error())
		}
	}
	var err error
	doc.Experiment, err = r.Experiment()
	problem(err)
	doc.Host, err = r.Host()
	problem(err)
	doc.Plan, err = r.Plan()
	problem(err)
	for _, t := range trials {
		doc.Trials = append(doc.Trials, gather(t, r.TrialFolder(t.ID), problem))
	}
	for _, b := range r.Baselines {
		e := gather(b.Trial, r.BaselineFolder(b.ID), problem)
		e.When = b.When
		doc.Baselines = append(doc.Baselines, e)
	}
	for _, m := range r.Maxima {
		doc.Maxima = append(doc.Maxima, gather(m, r.MaximumFolder(m.ID), problem))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(doc)
}

// gather reads a trial's files; what cannot be read is a problem, and left out.
func gather(t result.Trial, folder result.Folder, problem func(error)) evidence {
	e := evidence{Trial: t, Histograms: []histogram{}}
	if d, err := folder.Details(); err != nil {
		problem(err)
	} else {
		e.Details = &d
	}
	intervals, err := folder.Intervals()
	problem(err)
	for _, interval := range intervals {
		encoded, err := interval.Histogram.Encode()
		problem(err)
		h := histogram{Series: interval.Tag, Start: interval.Start, LengthS: interval.Length.Seconds(), Hdrh: encoded, Counts: [][2]int64{}}
		var before uint64
		for _, point := range interval.Histogram.Curve() {
			h.Counts = append(h.Counts, [2]int64{point.ValueNs, int64(point.Count - before)})
			before = point.Count
		}
		e.Histograms = append(e.Histograms, h)
	}
	e.Outliers, err = folder.Outliers()
	problem(err)
	e.Rates, err = folder.Rates()
	problem(err)
	e.Metrics, err = folder.Metrics()
	problem(err)
	if below, _, err := folder.Path(result.PacketsFile); err == nil {
		e.Packets = below
	}
	log, err := folder.EngineLog()
	problem(err)
	e.EngineLog = string(log)
	return e
}

package export

import (
	"encoding/json"
	"io"
	"time"

	"nines.dev/nines/result"
)

// DocumentSchema names the format of the JSON document.
const DocumentSchema = "nines/export/v1"

// evidence is a trial with all its files.
type evidence struct {
	When result.When `json:"when,omitempty"` // for a baseline
	result.Trial
	Details    *result.Details  `json:"details"`
	Histograms []histogram      `json:"histograms"`
	Outliers   []result.Outlier `json:"outliers"`
	Rates      []result.Rate    `json:"rates"`
	Metrics    *result.Metrics  `json:"metrics,omitempty"`
	// Packets is the file with every packet, below the result folder.
	Packets   string `json:"packets_file,omitempty"`
	EngineLog string `json:"engine_log,omitempty"`
}

// histogram is a series of a trial, or a time block of it: in the encoding that HdrHistogram's libraries read, and
// as counts, which need no library.
type histogram struct {
	Series  string    `json:"series"`
	Start   time.Time `json:"start"`
	LengthS float64   `json:"length_s"`
	// Hdrh is the compressed V2 encoding in base64; values are nanoseconds.
	Hdrh string `json:"hdrh"`
	// Counts are pairs: the largest value of a bucket in ns, and the number of samples.
	Counts [][2]int64 `json:"counts"`
}

// WriteJSON writes one document with everything in a result folder: what was run, on what, the
// findings, and the evidence. Trials are all of the result's, or some; it holds one at a time. With blocks, their
// histograms are those of the time blocks.
func WriteJSON(w io.Writer, r *result.Result, trials []result.Trial, blocks bool, progress Progress) error {
	if err := r.MayShowExperiment(); err != nil {
		return err
	}
	problems := append([]string{}, r.Problems...)
	problem := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	experiment, err := r.Experiment() // the file as run, YAML
	problem(err)
	host, err := r.Host()
	problem(err)
	plan, err := r.Plan()
	problem(err)
	out := objectWriter{out: w}
	out.field("schema", DocumentSchema)
	out.field("rules", r.Summary.Rules)
	out.field("name", r.Summary.Name)
	out.field("started", r.Summary.Started)
	out.field("experiment", experiment)
	out.field("host", host)
	out.field("plan", plan)
	out.list("trials", len(trials), func(i int) any {
		progress.tell(i, len(trials))
		return gather(trials[i], r.TrialFolder(trials[i].ID), blocks, problem)
	})
	out.field("searches", append([]result.Search{}, r.Searches...))
	out.field("skipped", append([]result.Skipped{}, r.Summary.Skipped...))
	out.list("baselines", len(r.Baselines), func(i int) any {
		e := gather(r.Baselines[i].Trial, r.BaselineFolder(r.Baselines[i].ID), blocks, problem)
		e.When = r.Baselines[i].When
		return e
	})
	out.list("maxima", len(r.Maxima), func(i int) any { return gather(r.Maxima[i], r.MaximumFolder(r.Maxima[i].ID), blocks, problem) })
	out.field("published", append([]result.Published{}, r.Published...))
	// Missing or damaged files, which are not in the document.
	out.field("problems", problems)
	return out.close()
}

// objectWriter writes a JSON object piece by piece, and keeps the first error.
type objectWriter struct {
	out    io.Writer
	fields int
	err    error
}

func (o *objectWriter) text(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.out, text)
	}
}

func (o *objectWriter) value(v any) {
	if o.err != nil {
		return
	}
	encoded, err := json.Marshal(v)
	if err == nil {
		_, err = o.out.Write(encoded)
	}
	o.err = err
}

func (o *objectWriter) name(name string) {
	if o.fields++; o.fields == 1 {
		o.text("{")
	} else {
		o.text(",\n")
	}
	o.value(name)
	o.text(":")
}

func (o *objectWriter) field(name string, v any) {
	o.name(name)
	o.value(v)
}

func (o *objectWriter) list(name string, length int, of func(i int) any) {
	o.name(name)
	o.text("[")
	for i := 0; i < length && o.err == nil; i++ {
		if i > 0 {
			o.text(",\n")
		}
		o.value(of(i))
	}
	o.text("]")
}

func (o *objectWriter) close() error {
	o.text("}\n")
	return o.err
}

// gather reads a trial's files; unreadable ones are reported and left out.
func gather(t result.Trial, folder result.Folder, blocks bool, problem func(error)) evidence {
	e := evidence{Trial: t, Histograms: []histogram{}}
	if d, err := folder.Details(); err != nil {
		problem(err)
	} else {
		e.Details = &d
	}
	intervals, err := folder.Intervals()
	problem(err)
	if !blocks {
		sums := newMerger()
		for _, interval := range intervals {
			problem(sums.add(interval))
		}
		intervals = sums.sums
	}
	for _, interval := range intervals {
		encoded, err := interval.Histogram.Encode()
		problem(err)
		h := histogram{Series: interval.Tag, Start: interval.Start, LengthS: interval.Length.Seconds(), Hdrh: encoded, Counts: [][2]int64{}}
		for bucket := range interval.Histogram.Buckets() {
			h.Counts = append(h.Counts, [2]int64{bucket.HighNs, int64(bucket.Count)})
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

package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Names of the files of a result folder; docs/reference/results.md describes each.
const (
	SummaryFile    = "summary.json"
	SummaryCSVFile = "summary.csv"
	BaselinesFile  = "baselines.json"
	MaximaFile     = "maxima.json"
	SearchesFile   = "searches.json"
	PublishedFile  = "published.json"
	ExperimentFile = "experiment.yaml"
	// OriginFile says which file ExperimentFile is a copy of, for a run that is resumed.
	OriginFile = "origin.json"
	HostFile   = "host.json"
	PlanFile   = "plan.json"
	ReportFile = "report.html"

	HlogFile      = "latency.hlog"
	OutliersFile  = "outliers.csv"
	RateFile      = "rate.csv"
	DetailsFile   = "details.json"
	MetricsFile   = "metrics.json"
	PacketsFile   = "packets.parquet"
	EngineLogFile = "engine.log"
	// ServicesLogFile is what the nodes' services have printed.
	ServicesLogFile = "services.log"
	EventsFile      = "events.parquet"
	// OrdinaryFile has randomly picked packets, in the form of OutliersFile.
	OrdinaryFile = "ordinary.csv"
	CausesFile   = "causes.json"
	// InterruptionsFile lists what the host took from the threads on the packets' way.
	InterruptionsFile = "interruptions.parquet"
	PairFile          = "pair.json"

	trialsDir    = "trials"
	baselinesDir = "baselines"
	maximaDir    = "maxima"
	LatestLink   = "latest"
)

// Writer fills a result folder. Every file appears whole or not at all, and the summary names a
// trial only when its files exist: the folder can be read at any moment, even after a crash, and
// holds all finished trials. One goroutine may use a Writer.
type Writer struct {
	root      string      // the folder of all results
	dir       string      // this result
	inside    *os.Root    // the same, for what is written; it is closed with the Writer's memory
	folder    *os.File    // the same, claimed
	secrets   fs.FileMode // of what shows the experiment
	summary   Summary
	baselines Baselines
	maxima    Maxima
	searches  Searches
}

// WriteError says what could not be written and what exists nevertheless.
type WriteError struct {
	Path string
	Kept string
	Err  error
}

func (e *WriteError) Error() string {
	remedy := ""
	switch {
	case isFull(e.Err):
		remedy = "; free some space, or write elsewhere with --out"
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		remedy = "; write elsewhere with --out"
	}
	reason := e.Err
	if path := new(fs.PathError); errors.As(reason, &path) {
		reason = path.Err // its path is a temporary one
	}
	return fmt.Sprintf("cannot write %s: %v%s%s", e.Path, reason, remedy, e.Kept)
}

func (e *WriteError) Unwrap() error { return e.Err }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Create makes the folder dir/<name>/<UTC time> with a summary without trials. Two runs that start
// in the same second get different folders.
func Create(dir, name string, started time.Time) (*Writer, error) {
	parent := filepath.Join(dir, folderName(name))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, &WriteError{Path: parent, Err: err}
	}
	// No colons, so that the path works with scp and on any system.
	stamp := started.UTC().Format("2006-01-02T15-04-05Z")
	target := filepath.Join(parent, stamp)
	for attempt := 2; ; attempt++ {
		err := os.Mkdir(target, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, &WriteError{Path: target, Err: err}
		}
		target = filepath.Join(parent, fmt.Sprintf("%s-%d", stamp, attempt))
	}
	inside, folder, err := claimed(target)
	if err != nil {
		return nil, &WriteError{Path: target, Err: err}
	}
	w := &Writer{
		root:      dir,
		dir:       target,
		inside:    inside,
		folder:    folder,
		secrets:   forEveryone,
		summary:   Summary{Schema: Schema, Rules: Rules, Name: name, Started: started.UTC(), Trials: []Trial{}},
		baselines: Baselines{Schema: BaselineSchema, Baselines: []Baseline{}},
		maxima:    Maxima{Schema: MaximaSchema, Maxima: []Trial{}},
		searches:  Searches{Schema: SearchesSchema, Searches: []Search{}},
	}
	if name, err := writeAtomic(w.inside, forEveryone, w.summaryFiles()...); err != nil {
		return nil, w.failed(name, err)
	}
	return w, nil
}

// Dir returns the result folder.
func (w *Writer) Dir() string { return w.dir }

// Summary returns what has been written so far.
func (w *Writer) Summary() Summary {
	summary := w.summary
	summary.Trials = append([]Trial(nil), w.summary.Trials...)
	return summary
}

// Empty is true until something was measured.
func (w *Writer) Empty() bool {
	return len(w.summary.Trials) == 0 && len(w.baselines.Baselines) == 0 && len(w.maxima.Maxima) == 0
}

// Discard removes the result, and its name's folder if no other result is in it.
func (w *Writer) Discard() error {
	defer w.folder.Close()
	if err := os.RemoveAll(w.dir); err != nil {
		return &WriteError{Path: w.dir, Err: err}
	}
	// Usually it is not empty, which is no error.
	_ = os.Remove(filepath.Dir(w.dir))
	return nil
}

// WriteExperiment stores the experiment file as run, and where it was written: an absolute path, or empty if it was in
// no file.
func (w *Writer) WriteExperiment(text []byte, origin string) error {
	if holdsSecrets(text) || !readByEveryone(origin) {
		w.secrets = ownerOnly
	}
	err := w.write(ExperimentFile, w.secrets, func(out io.Writer) error { _, err := out.Write(text); return err })
	if err == nil && origin != "" {
		err = w.writeOrigin(origin)
	}
	return err
}

// WriteHost stores the host's inventory; v is anything with a JSON form.
func (w *Writer) WriteHost(v any) error { return w.writeJSON(HostFile, v) }

// WritePlan stores the plan, or the plans; v is anything with a JSON form. It follows WriteExperiment.
func (w *Writer) WritePlan(v any) error {
	return w.write(PlanFile, w.secrets, func(out io.Writer) error { return encodeJSON(out, v) })
}

// WritePublished stores published measurements, which the report draws next to these.
func (w *Writer) WritePublished(published []Published) error {
	return w.writeJSON(PublishedFile, PublishedSet{Schema: PublishedSchema, Published: published})
}

// WriteReport stores the page.
func (w *Writer) WriteReport(page func(io.Writer) error) error {
	return w.write(ReportFile, forEveryone, page)
}

// AddTrial writes the files of a finished trial and then the summaries with it. It returns the
// trial with its ID and percentiles. After an error the folder holds all trials before this one.
func (w *Writer) AddTrial(r Record) (Trial, error) {
	if err := r.check(); err != nil {
		return Trial{}, fmt.Errorf("the trial cannot be kept: %w", err)
	}
	r.complete(fmt.Sprintf("%04d", len(w.summary.Trials)+1))
	if err := w.writeRecord(trialsDir, r); err != nil {
		return Trial{}, err
	}
	if len(r.Trial.Scripts) > 0 {
		if err := w.keepScripts(r.Trial.ID); err != nil {
			return Trial{}, err
		}
	}
	before := w.summary.Trials
	w.summary.Trials = append(before[:len(before):len(before)], r.Trial)
	if name, err := writeAtomic(w.inside, forEveryone, w.summaryFiles()...); err != nil {
		w.summary.Trials = before
		_ = w.inside.RemoveAll(filepath.Join(trialsDir, r.Trial.ID)) // no summary names it
		return Trial{}, w.failed(name, err)
	}
	if len(before) == 0 && w.root != "" {
		_ = PointLatest(w.root, w.dir) // already, for a resume after a crash; Close reports errors
	}
	return r.Trial, nil
}

// AddBaseline writes a run of the generator without a network, in the same form as a trial.
func (w *Writer) AddBaseline(when When, r Record) (Baseline, error) {
	r.Details.Baseline = string(when)
	if err := r.check(); err != nil {
		return Baseline{}, fmt.Errorf("the baseline cannot be kept: %w", err)
	}
	r.complete(fmt.Sprintf("%04d", len(w.baselines.Baselines)+1))
	if err := w.writeRecord(baselinesDir, r); err != nil {
		return Baseline{}, err
	}
	before, added := w.baselines.Baselines, Baseline{When: when, Trial: r.Trial}
	w.baselines.Baselines = append(before[:len(before):len(before)], added)
	if err := w.writeJSON(BaselinesFile, w.baselines); err != nil {
		w.baselines.Baselines = before
		_ = w.inside.RemoveAll(filepath.Join(baselinesDir, r.Trial.ID))
		return Baseline{}, err
	}
	return added, nil
}

// AddMaximum writes a trial at rate 0 that found a maximum, in the same form as a trial.
func (w *Writer) AddMaximum(r Record) (Trial, error) {
	if err := r.check(); err != nil {
		return Trial{}, fmt.Errorf("the maximum cannot be kept: %w", err)
	}
	r.complete(fmt.Sprintf("%04d", len(w.maxima.Maxima)+1))
	if err := w.writeRecord(maximaDir, r); err != nil {
		return Trial{}, err
	}
	before := w.maxima.Maxima
	w.maxima.Maxima = append(before[:len(before):len(before)], r.Trial)
	if err := w.writeJSON(MaximaFile, w.maxima); err != nil {
		w.maxima.Maxima = before
		_ = w.inside.RemoveAll(filepath.Join(maximaDir, r.Trial.ID))
		return Trial{}, err
	}
	return r.Trial, nil
}

// Skip records a combination that is not measured, once.
func (w *Writer) Skip(skipped Skipped) error {
	if skipped.Variables == nil {
		skipped.Variables = map[string]any{}
	}
	for _, other := range w.summary.Skipped {
		if other.Reason == skipped.Reason && SameVariables(other.Variables, skipped.Variables) {
			return nil
		}
	}
	before := w.summary.Skipped
	w.summary.Skipped = append(before[:len(before):len(before)], skipped)
	if name, err := writeAtomic(w.inside, forEveryone, w.summaryFiles()...); err != nil {
		w.summary.Skipped = before
		return w.failed(name, err)
	}
	return nil
}

// SameVariables reports whether two trials have the same combination, also if one's values come from
// a file and the other's from a program: 64 is 64.0.
func SameVariables(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(x, y any) bool { return FormatVariable(x) == FormatVariable(y) })
}

// Close points <root>/latest at this result, if it has trials, and lets others remove or continue
// it. The folder is complete without this.
func (w *Writer) Close() error {
	defer w.folder.Close()
	if w.root == "" || len(w.summary.Trials) == 0 {
		return nil // it was reopened outside Create's layout; or has nothing to show
	}
	if err := PointLatest(w.root, w.dir); err != nil {
		return &WriteError{Path: filepath.Join(w.root, LatestLink), Err: err, Kept: w.kept()}
	}
	return nil
}

// PointLatest points <root>/latest at a result below it, for example a copied one.
func PointLatest(root, dir string) error {
	target, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	return replaceSymlink(target, filepath.Join(root, LatestLink))
}

// writeRecord writes a trial's folder under a temporary name and renames it when it is complete.
func (w *Writer) writeRecord(below string, r Record) error {
	final := filepath.Join(below, r.Trial.ID)
	temporary := filepath.Join(below, "."+r.Trial.ID+".tmp")
	fail := func(path string, err error) error {
		_ = w.inside.RemoveAll(temporary) // gives a full disk its space back
		return &WriteError{Path: filepath.Join(w.dir, path), Err: err, Kept: w.kept()}
	}
	// The summary does not name what a failed attempt at this number left.
	for _, stale := range []string{temporary, final} {
		if err := w.inside.RemoveAll(stale); err != nil {
			return fail(stale, err)
		}
	}
	if err := w.inside.MkdirAll(temporary, 0o755); err != nil {
		return fail(temporary, err)
	}
	when := span{start: w.summary.Started, duration: time.Duration(r.Details.DurationNs)}
	if r.Details.StartedUnixNs != 0 {
		when.start = time.Unix(0, r.Details.StartedUnixNs)
	}
	// First what a disk may have no room for, so that details.json can say so.
	if err := w.keepPackets(temporary, &r); err != nil {
		return fail(filepath.Join(final, PacketsFile), err)
	}
	files := []content{
		{HlogFile, func(out io.Writer) error { return writeHlog(out, r.Histograms, r.Blocks, when) }},
		{OutliersFile, func(out io.Writer) error { return writeOutliers(out, r.Outliers) }},
		{RateFile, func(out io.Writer) error { return writeRates(out, r.Rates) }},
		{DetailsFile, func(out io.Writer) error { return encodeJSON(out, r.Details) }},
	}
	if r.Details.Trace != nil {
		files = append(files,
			content{EventsFile, func(out io.Writer) error { return writeEvents(out, r.Events) }},
			content{OrdinaryFile, func(out io.Writer) error { return writeOutliers(out, r.Ordinary) }})
	}
	if r.Trial.Interruptions != nil {
		files = append(files, content{InterruptionsFile, func(out io.Writer) error { return writeInterruptions(out, r.Interruptions) }})
	}
	if r.Metrics != nil {
		files = append(files, content{MetricsFile, func(out io.Writer) error { return encodeJSON(out, r.Metrics) }})
	}
	if r.Causes != nil {
		files = append(files, content{CausesFile, func(out io.Writer) error { return encodeJSON(out, r.Causes) }})
	}
	if r.Pair != nil {
		files = append(files, content{PairFile, func(out io.Writer) error { return encodeJSON(out, r.Pair) }})
	}
	if len(r.EngineLog) > 0 {
		files = append(files, content{EngineLogFile, func(out io.Writer) error { _, err := out.Write(r.EngineLog); return err }})
	}
	files = append(files, r.streamFiles(when)...)
	if len(r.ServicesLog) > 0 {
		files = append(files, content{ServicesLogFile, func(out io.Writer) error { _, err := out.Write(r.ServicesLog); return err }})
	}
	for _, file := range files {
		if err := w.inside.MkdirAll(filepath.Join(temporary, filepath.Dir(file.name)), 0o755); err != nil {
			return fail(final, err)
		}
		if err := writeFile(w.inside, filepath.Join(temporary, file.name), forEveryone, file.write); err != nil {
			return fail(filepath.Join(final, file.name), err)
		}
	}
	if err := w.inside.Rename(temporary, final); err != nil {
		return fail(final, err)
	}
	if err := syncDir(w.inside, below); err != nil {
		return fail(final, err)
	}
	return nil
}

// keepPackets writes a trial's packets. They take far more room than all else: where only they do not fit, the trial is
// kept without.
func (w *Writer) keepPackets(folder string, r *Record) error {
	if r.Packets == nil {
		return nil
	}
	err := writeFile(w.inside, filepath.Join(folder, PacketsFile), forEveryone, func(out io.Writer) error { return writePackets(out, r.Packets) })
	if isFull(err) {
		r.withoutPackets("the disk has no room for " + PacketsFile)
		return nil
	}
	return err
}

// summaryFiles puts summary.json last: readers rely on it, and it names a trial only when
// everything else exists.
func (w *Writer) summaryFiles() []content {
	return []content{
		{SummaryCSVFile, func(out io.Writer) error { return WriteSummaryCSV(out, w.summary.Trials) }},
		{SummaryFile, func(out io.Writer) error { return encodeJSON(out, w.summary) }},
	}
}

func (w *Writer) writeJSON(name string, v any) error {
	return w.write(name, forEveryone, func(out io.Writer) error { return encodeJSON(out, v) })
}

func (w *Writer) write(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if _, err := writeAtomic(w.inside, mode, content{name, write}); err != nil {
		return w.failed(name, err)
	}
	return nil
}

func (w *Writer) failed(name string, err error) error {
	return &WriteError{Path: filepath.Join(w.dir, name), Err: err, Kept: w.kept()}
}

// kept says what an error leaves behind.
func (w *Writer) kept() string {
	switch n := len(w.summary.Trials); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (1 finished trial is kept in %s)", w.dir)
	default:
		return fmt.Sprintf(" (%d finished trials are kept in %s)", n, w.dir)
	}
}

func encodeJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

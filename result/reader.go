package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Result is a result folder that has been opened. It reads the large files only
// when asked for them, and never writes.
type Result struct {
	Dir       string
	Summary   Summary
	Baselines []Baseline
	// Problems are files that are missing or broken without the whole being
	// useless, one sentence each.
	Problems []string
}

// OpenError is a folder that is no result, or one that cannot be read.
type OpenError struct {
	Dir    string
	Reason string
	Remedy string
	Err    error // may be nil
}

func (e *OpenError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Dir, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *OpenError) Unwrap() error { return e.Err }

// ExitCode is 2: the call names a wrong folder.
func (e *OpenError) ExitCode() int { return 2 }

// Open reads the summary of a result folder, or of a symbolic link to one, and
// checks that the files of each trial are there.
func Open(dir string) (*Result, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &OpenError{Dir: dir, Reason: "there is no such folder",
			Remedy: "'nines run FILE' makes results/<name>/<time> and points results/latest at it"}
	case err != nil:
		return nil, &OpenError{Dir: dir, Reason: "cannot be read", Err: err}
	case !info.IsDir():
		return nil, &OpenError{Dir: dir, Reason: "is a file, not a result folder", Remedy: "name the folder that holds it"}
	}
	r := &Result{Dir: dir}
	raw, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notAResult(dir)
	}
	if err != nil {
		return nil, &OpenError{Dir: dir, Reason: "cannot read " + SummaryFile, Err: err}
	}
	if err := checkSchema(dir, SummaryFile, raw, Schema); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &r.Summary); err != nil {
		return nil, brokenJSON(dir, SummaryFile, raw, err)
	}
	if err := r.readBaselines(); err != nil {
		return nil, err
	}
	for i := range r.Summary.Trials {
		t := &r.Summary.Trials[i]
		if t.TxPackets != t.RxPackets+t.LostPackets {
			r.problem("trial %s: %d packets sent, but %d received and %d lost do not add up to that",
				t.ID, t.TxPackets, t.RxPackets, t.LostPackets)
		}
		r.checkFolder(r.TrialFolder(t.ID))
	}
	for _, b := range r.Baselines {
		r.checkFolder(r.BaselineFolder(b.ID))
	}
	return r, nil
}

func (r *Result) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Result) readBaselines() error {
	raw, err := os.ReadFile(filepath.Join(r.Dir, BaselinesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a result need not have any
	}
	if err != nil {
		r.problem("%s cannot be read: %v", BaselinesFile, err)
		return nil
	}
	if err := checkSchema(r.Dir, BaselinesFile, raw, BaselineSchema); err != nil {
		return err
	}
	var baselines Baselines
	if err := json.Unmarshal(raw, &baselines); err != nil {
		return brokenJSON(r.Dir, BaselinesFile, raw, err)
	}
	r.Baselines = baselines.Baselines
	return nil
}

func (r *Result) checkFolder(f Folder) {
	if !safeID(f.id) {
		r.problem("trial %q has an ID that is no folder name", f.id)
		return
	}
	for _, name := range []string{HlogFile, OutliersFile, RateFile, DetailsFile} {
		if _, err := os.Stat(filepath.Join(f.dir, name)); errors.Is(err, fs.ErrNotExist) {
			r.problem("%s is missing", filepath.Join(f.below, f.id, name))
		} else if err != nil {
			r.problem("%s cannot be read: %v", filepath.Join(f.below, f.id, name), err)
		}
	}
}

// safeID keeps a summary from naming files outside its folder.
func safeID(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, `/\`)
}

// notAResult says what the folder seems to be instead.
func notAResult(dir string) error {
	e := &OpenError{Dir: dir, Reason: "is not a result folder: it has no " + SummaryFile}
	if _, err := os.Stat(filepath.Join(dir, latestLink, SummaryFile)); err == nil {
		e.Remedy = "its newest result is " + filepath.Join(dir, latestLink)
		return e
	}
	if below, _ := filepath.Glob(filepath.Join(dir, "*", SummaryFile)); len(below) > 0 {
		e.Remedy = "its newest result is " + filepath.Dir(below[len(below)-1])
		return e
	}
	e.Remedy = "'nines run FILE' makes results/<name>/<time> and points results/latest at it"
	return e
}

// checkSchema refuses a form that this version does not know.
func checkSchema(dir, file string, raw []byte, want string) error {
	var head struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return brokenJSON(dir, file, raw, err)
	}
	if head.Schema == nil {
		return &OpenError{Dir: dir, Reason: file + " has no \"schema\", so it is not of nines"}
	}
	if *head.Schema == want {
		return nil
	}
	e := &OpenError{Dir: dir, Reason: fmt.Sprintf("%s has the schema %q, and this nines reads %q", file, *head.Schema, want)}
	if kind, _, _ := cutLast(want, "/"); strings.HasPrefix(*head.Schema, kind+"/") {
		e.Remedy = "it was written by another version; read it with that one"
	}
	return e
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// brokenJSON gives the line of a JSON error.
func brokenJSON(dir, file string, raw []byte, err error) error {
	where := file
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	} else if errors.As(err, &kind) {
		offset = kind.Offset
	}
	if offset >= 0 && offset <= int64(len(raw)) {
		where = fmt.Sprintf("%s:%d", file, 1+bytes.Count(raw[:offset], []byte("\n")))
	}
	return &OpenError{Dir: dir, Reason: where + " is damaged", Err: err,
		Remedy: "the trials' own files below trials/ may still be whole"}
}

// Folder is the folder of one trial or baseline.
type Folder struct {
	dir, below, id string
	trial          Trial
}

// TrialFolder gives access to the files of the trial with this ID.
func (r *Result) TrialFolder(id string) Folder {
	f := Folder{dir: filepath.Join(r.Dir, trialsDir, id), below: trialsDir, id: id}
	for _, t := range r.Summary.Trials {
		if t.ID == id {
			f.trial = t
		}
	}
	return f
}

// BaselineFolder gives access to the files of the baseline with this ID.
func (r *Result) BaselineFolder(id string) Folder {
	f := Folder{dir: filepath.Join(r.Dir, baselinesDir, id), below: baselinesDir, id: id}
	for _, b := range r.Baselines {
		if b.ID == id {
			f.trial = b.Trial
		}
	}
	return f
}

// Histograms reads latency.hlog. Extremes and mean are the exact ones of the
// summary where it has the same count.
func (f Folder) Histograms() (Histograms, error) {
	raw, err := f.read(HlogFile)
	if err != nil {
		return Histograms{}, err
	}
	histograms, err := readHlog(raw)
	if err != nil {
		return Histograms{}, f.broken(HlogFile, err)
	}
	for _, s := range histograms.series() {
		if *s.histogram == nil {
			return Histograms{}, f.broken(HlogFile, fmt.Errorf("the series %s is missing", s.tag))
		}
	}
	histograms.Latency.exact(f.trial.Latency)
	histograms.FromTx.exact(f.trial.FromTx)
	histograms.SendLag.exact(f.trial.SendLag)
	return histograms, nil
}

// Outliers reads outliers.csv: the slowest packets, in the file's order.
func (f Folder) Outliers() ([]Outlier, error) {
	return readFolderFile(f, OutliersFile, readOutliers)
}

// Rates reads rate.csv: one row a second.
func (f Folder) Rates() ([]Rate, error) { return readFolderFile(f, RateFile, readRates) }

// Details reads details.json.
func (f Folder) Details() (Details, error) {
	return readFolderFile(f, DetailsFile, func(r io.Reader) (Details, error) {
		var details Details
		err := json.NewDecoder(r).Decode(&details)
		return details, err
	})
}

// EngineLog reads engine.log; a trial need not have one.
func (f Folder) EngineLog() ([]byte, error) {
	raw, err := f.read(EngineLogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func readFolderFile[T any](f Folder, name string, parse func(io.Reader) (T, error)) (T, error) {
	var none T
	raw, err := f.read(name)
	if err != nil {
		return none, err
	}
	value, err := parse(bytes.NewReader(raw))
	if err != nil {
		return none, f.broken(name, err)
	}
	return value, nil
}

func (f Folder) read(name string) ([]byte, error) {
	if !safeID(f.id) {
		return nil, fmt.Errorf("%q is no trial", f.id)
	}
	raw, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(f.below, f.id, name), errors.Unwrap(err))
	}
	return raw, nil
}

func (f Folder) broken(name string, err error) error {
	return fmt.Errorf("%s is damaged: %w", filepath.Join(f.below, f.id, name), err)
}

// Experiment is the experiment file as it was run; "" where it was not kept.
func (r *Result) Experiment() (string, error) {
	raw, err := r.optional(ExperimentFile)
	return string(raw), err
}

// Host is the host's inventory as JSON; nil where it was not kept.
func (r *Result) Host() (json.RawMessage, error) { return r.optionalJSON(HostFile) }

// Plan is the plan, or the plans, as JSON; nil where it was not kept.
func (r *Result) Plan() (json.RawMessage, error) { return r.optionalJSON(PlanFile) }

func (r *Result) optional(name string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

func (r *Result) optionalJSON(name string) (json.RawMessage, error) {
	raw, err := r.optional(name)
	if err != nil || raw == nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%s is damaged: it is not JSON", name)
	}
	return raw, nil
}

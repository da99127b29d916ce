package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/terminal"
)

// Result is an open result folder. It reads the large files only on request, and never writes.
type Result struct {
	Dir       string
	Summary   Summary
	Baselines []Baseline
	// Maxima are the trials at rate 0 that other trials' rates are fractions of.
	Maxima []Trial
	// Searches are what search methods found. Every ID in them is a valid folder name, but their
	// trials may be missing; Problems says so.
	Searches []Search
	// Published are published measurements, to show next to these.
	Published []Published
	// Problems describe missing or broken files that do not make the whole useless, one sentence
	// each.
	Problems []string

	// The trials by their ID, so that the folders of all of them are found in linear time; nil in a
	// Result that Open did not make.
	trials, baselines, maxima map[string]*Trial
}

// MaxVariables is the most swept keys of a result that is read: tables have a column for each, and
// a figure compares them all. A sweep has a handful; a file with more was not written by nines.
const MaxVariables = 256

// similarFolder asks whether a path that does not exist means one that differs from it in one name; empty if there is
// none.
func similarFolder(path string) string {
	path = filepath.Clean(path)
	parent, below := filepath.Dir(path), filepath.Base(path)
	entries, err := os.ReadDir(parent)
	for err != nil && parent != filepath.Dir(parent) {
		parent, below = filepath.Dir(parent), filepath.Join(filepath.Base(parent), below)
		entries, err = os.ReadDir(parent)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	wrong, rest, _ := strings.Cut(below, "/")
	near := terminal.Nearest(wrong, names)
	if near == "" {
		return ""
	}
	meant := filepath.Join(parent, near, rest)
	if _, err := os.Stat(meant); err != nil {
		return ""
	}
	return "did you mean " + meant + "?"
}

// Open reads the summary of a result folder, or of a symbolic link to one, and checks that the
// files of each trial exist.
func Open(dir string) (*Result, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &OpenError{Dir: dir, Reason: "there is no such folder", Remedy: strings.TrimPrefix(similarFolder(dir)+
			" 'nines run FILE' makes results/<name>/<time> and points results/latest at it", " ")}
	case errors.Is(err, fs.ErrPermission):
		return nil, &OpenError{Dir: dir, Reason: "cannot be read", Err: fs.ErrPermission, Remedy: readAsOwner}
	case err != nil:
		return nil, &OpenError{Dir: dir, Reason: "cannot be read", Err: err}
	case !info.IsDir():
		return nil, &OpenError{Dir: dir, Reason: "is a file, not a result folder", Remedy: "name the folder that holds it"}
	}
	r := &Result{Dir: dir}
	raw, err := readPlain(filepath.Join(dir, SummaryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notAResult(dir)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, unreadable(dir, SummaryFile)
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
	var maxima Maxima
	if err := r.readSchema(MaximaFile, MaximaSchema, &maxima); err != nil {
		return nil, err
	}
	r.Maxima = maxima.Maxima
	var searches Searches
	if err := r.readSchema(SearchesFile, SearchesSchema, &searches); err != nil {
		return nil, err
	}
	r.keepSearches(searches.Searches)
	var published PublishedSet
	if err := r.readSchema(PublishedFile, PublishedSchema, &published); err != nil {
		return nil, err
	}
	r.keepPublished(published.Published)
	if err := r.checkVariables(); err != nil {
		return nil, err
	}
	r.indexTrials()
	for i := range r.Summary.Trials {
		t := &r.Summary.Trials[i]
		if t.TxPackets != t.RxPackets+t.LostPackets {
			r.problem("trial %s: %d packets sent, but %d received and %d lost do not add up to that",
				t.ID, t.TxPackets, t.RxPackets, t.LostPackets)
		}
	}
	if err := r.checkFolders(); err != nil {
		return nil, err
	}
	return r, nil
}

// checkVariables refuses a result that no table can show.
func (r *Result) checkVariables() error {
	names := map[string]bool{}
	add := func(variables map[string]any) {
		for name := range variables {
			names[name] = true
		}
	}
	for _, t := range r.Summary.Trials {
		add(t.Variables)
	}
	for _, s := range r.Searches {
		add(s.Variables)
	}
	if len(names) > MaxVariables {
		return &OpenError{Dir: r.Dir, Reason: fmt.Sprintf("its trials differ in %d swept keys, and a result has at most %d", len(names), MaxVariables),
			Remedy: "nines did not write this; get the original from its source"}
	}
	return nil
}

// indexTrials indexes everything that has a folder.
func (r *Result) indexTrials() {
	r.trials, r.baselines, r.maxima = map[string]*Trial{}, map[string]*Trial{}, map[string]*Trial{}
	for i := range r.Summary.Trials {
		r.trials[r.Summary.Trials[i].ID] = &r.Summary.Trials[i]
	}
	for i := range r.Baselines {
		r.baselines[r.Baselines[i].ID] = &r.Baselines[i].Trial
	}
	for i := range r.Maxima {
		r.maxima[r.Maxima[i].ID] = &r.Maxima[i]
	}
}

func (r *Result) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

func (r *Result) readBaselines() error {
	var baselines Baselines
	err := r.readSchema(BaselinesFile, BaselineSchema, &baselines)
	r.Baselines = baselines.Baselines
	return err
}

// readSchema reads an optional file.
func (r *Result) readSchema(name, schema string, into any) error {
	raw, err := readPlain(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return unreadable(r.Dir, name)
	}
	if err != nil {
		r.problem("%s cannot be read: %v", name, err)
		return nil
	}
	if err := checkSchema(r.Dir, name, raw, schema); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return brokenJSON(r.Dir, name, raw, err)
	}
	return nil
}

// Experiment returns the experiment file as run, without the values of env and variables; "" if it was not kept.
func (r *Result) Experiment() (string, error) {
	raw, err := r.optional(ExperimentFile)
	if err != nil || raw == nil {
		return "", err
	}
	return withoutSecrets(raw), nil
}

// Host returns the host's inventory as JSON; nil if it was not kept.
func (r *Result) Host() (json.RawMessage, error) { return r.optionalJSON(HostFile) }

// Plan returns the plan, or the plans, as JSON without the values of env; nil if not kept.
func (r *Result) Plan() (json.RawMessage, error) {
	raw, err := r.optionalJSON(PlanFile)
	if err != nil || raw == nil {
		return nil, err
	}
	return planWithoutEnv(raw)
}

func (r *Result) optional(name string) ([]byte, error) {
	raw, err := readPlain(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, unreadable(r.Dir, name)
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

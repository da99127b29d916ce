package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"time"
)

// Reopen returns a writer that continues an interrupted result: existing content stays, and new
// content follows it. It refuses a folder that is no result, one with damaged files, and one that
// is being written.
func Reopen(dir string) (w *Writer, err error) {
	inside, folder, err := claimed(dir)
	if inUse := new(InUseError); errors.As(err, &inUse) {
		return nil, err
	}
	defer func() {
		if w == nil && inside != nil {
			_ = errors.Join(inside.Close(), folder.Close())
		}
	}()
	r, err := Open(dir) // it also says why a folder cannot be opened
	if err != nil {
		return nil, err
	}
	if made := r.Summary.Rules; made != Rules {
		by := fmt.Sprintf("by version %d of the rules", made)
		if made == 0 {
			by = "by the rules of before nines wrote their version"
		}
		return nil, &OpenError{Dir: dir, Reason: fmt.Sprintf("its numbers were made %s, and this nines has version %d: trials of both could not be told apart", by, Rules),
			Remedy: "run the experiment again, without --resume"}
	}
	for _, below := range []string{trialsDir, baselinesDir, maximaDir, ScriptsFolder} {
		if info, err := inside.Lstat(below); err == nil && !info.IsDir() {
			return nil, &OpenError{Dir: dir, Reason: below + " is not a folder, and nines follows no symbolic link in a result that it adds to",
				Remedy: "replace the link by the folder itself"}
		}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // results/latest will soon point elsewhere
	}
	w = &Writer{
		dir: dir, inside: inside, folder: folder, secrets: secretsOf(dir), summary: r.Summary,
		baselines: Baselines{Schema: BaselineSchema, Baselines: orEmpty(r.Baselines)},
		maxima:    Maxima{Schema: MaximaSchema, Maxima: orEmpty(r.Maxima)},
		searches:  Searches{Schema: SearchesSchema, Searches: orEmpty(r.Searches)},
	}
	w.summary.Trials = orEmpty(w.summary.Trials)
	// The names that Create gives identify the folder of all results.
	if filepath.Base(filepath.Dir(dir)) == folderName(r.Summary.Name) {
		w.root = filepath.Dir(filepath.Dir(dir))
	}
	// IDs count up, so a list with a hole would repeat one.
	for _, list := range []struct {
		file string
		ids  []string
	}{
		{SummaryFile, idsOf(w.summary.Trials, func(t Trial) string { return t.ID })},
		{BaselinesFile, idsOf(w.baselines.Baselines, func(b Baseline) string { return b.ID })},
		{MaximaFile, idsOf(w.maxima.Maxima, func(t Trial) string { return t.ID })},
		{SearchesFile, idsOf(w.searches.Searches, func(s Search) string { return s.ID })},
	} {
		for i, id := range list.ids {
			if want := fmt.Sprintf("%04d", i+1); id != want {
				return nil, &OpenError{Dir: dir, Reason: fmt.Sprintf("%s has the ID %q where nines writes %q, so nothing can be added to it", list.file, id, want)}
			}
		}
	}
	return w, nil
}

// secretsOf is the mode of what shows the experiment in a result: that which the experiment got.
func secretsOf(dir string) fs.FileMode {
	if readByEveryone(filepath.Join(dir, ExperimentFile)) {
		return forEveryone
	}
	return ownerOnly
}

// Resume records that the run continues now.
func (w *Writer) Resume(now time.Time) error {
	w.summary.Resumed = append(slices.Clone(w.summary.Resumed), now.UTC().Truncate(time.Second))
	if name, err := writeAtomic(w.inside, forEveryone, w.summaryFiles()...); err != nil {
		return w.failed(name, err)
	}
	return nil
}

// Maxima are the trials at rate 0 that have been written so far.
func (w *Writer) Maxima() []Trial { return slices.Clone(w.maxima.Maxima) }

// Baselines are those that have been written so far.
func (w *Writer) Baselines() []Baseline { return slices.Clone(w.baselines.Baselines) }

// TrialFolder gives access to the files of a written trial.
func (w *Writer) TrialFolder(id string) Folder {
	return w.written().TrialFolder(id)
}

// MaximumFolder gives access to the files of a written maximum.
func (w *Writer) MaximumFolder(id string) Folder {
	return w.written().MaximumFolder(id)
}

// written is the result as it is now.
func (w *Writer) written() *Result {
	r := &Result{Dir: w.dir, Summary: w.summary, Maxima: w.maxima.Maxima}
	r.indexTrials()
	return r
}

// SamePlans reports whether these plans, which have a JSON form, are those in the result: only then
// do new trials measure the same network as the old ones.
func (w *Writer) SamePlans(v any) (bool, error) {
	kept, err := readPlain(filepath.Join(w.dir, PlanFile))
	if err != nil {
		return false, fmt.Errorf("%s cannot be read: %w", filepath.Join(w.dir, PlanFile), err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return false, fmt.Errorf("writing the plans: %w", err)
	}
	var before, now any
	if err := json.Unmarshal(kept, &before); err != nil {
		return false, brokenJSON(w.dir, PlanFile, kept, err)
	}
	if err := json.Unmarshal(text, &now); err != nil {
		return false, fmt.Errorf("reading the plans: %w", err)
	}
	return reflect.DeepEqual(before, now), nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func idsOf[T any](list []T, id func(T) string) []string {
	ids := make([]string, 0, len(list))
	for _, one := range list {
		ids = append(ids, id(one))
	}
	return ids
}

package result

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// access is how nines may read a file: nil, or an error that wraps fs.ErrNotExist, fs.ErrPermission or another.
func access(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return nil
}

// unreadable is the error of a file that belongs to a result, and that the caller may not read. Without it what nines
// says of the result would be wrong.
func unreadable(dir, name string) error {
	return &OpenError{Dir: dir, Reason: "you may not read its " + name, Err: fs.ErrPermission, Remedy: readAsOwner}
}

const readAsOwner = "call nines as its owner, such as with sudo, or let its owner allow it with chmod"

// MayShowExperiment is an error where the caller may not read what was run: experiment and plan are their owner's if
// the experiment has values of env or variables.
func (r *Result) MayShowExperiment() error {
	for _, name := range []string{ExperimentFile, PlanFile, HostFile} {
		if err := access(filepath.Join(r.Dir, name)); errors.Is(err, fs.ErrPermission) {
			return unreadable(r.Dir, name)
		}
	}
	return nil
}

// checkFolders notes what is missing of the trials, baselines and maxima.
func (r *Result) checkFolders() error {
	var folders []Folder
	for _, t := range r.Summary.Trials {
		folders = append(folders, r.TrialFolder(t.ID))
	}
	for _, b := range r.Baselines {
		folders = append(folders, r.BaselineFolder(b.ID))
	}
	for _, m := range r.Maxima {
		folders = append(folders, r.MaximumFolder(m.ID))
	}
	for _, f := range folders {
		if err := r.checkFolder(f); err != nil {
			return err
		}
	}
	return nil
}

// alwaysThere are the files of every trial, and sometimesThere those of some.
var (
	alwaysThere    = []string{HlogFile, OutliersFile, RateFile, DetailsFile}
	sometimesThere = []string{PacketsFile, MetricsFile, EventsFile, OrdinaryFile, CausesFile, InterruptionsFile, PairFile,
		EngineLogFile, ServicesLogFile}
)

// checkFolder notes what a trial's folder lacks, and refuses what the caller may not read.
func (r *Result) checkFolder(f Folder) error {
	if !safeID(f.id) {
		r.problem("trial %q has an ID that is not a folder name", f.id)
		return nil
	}
	names := alwaysThere
	for _, s := range f.trial.Streams {
		if !safeID(s.Name) {
			r.problem("stream %q of trial %s has a name that is not one of a folder", s.Name, f.id)
			continue
		}
		names = append(names[:len(names):len(names)], filepath.Join(streamsDir, s.Name, HlogFile))
	}
	for i, name := range append(names[:len(names):len(names)], sometimesThere...) {
		err := access(filepath.Join(f.dir, name))
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case err == nil || missing && i >= len(names):
		case missing:
			r.problem("%s is missing", filepath.Join(f.below, f.id, name))
		case errors.Is(err, fs.ErrPermission):
			return unreadable(r.Dir, filepath.Join(f.below, f.id, name))
		default:
			r.problem("%s cannot be read: %v", filepath.Join(f.below, f.id, name), errors.Unwrap(err))
		}
	}
	return nil
}

package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Folder is the folder of one trial or baseline.
type Folder struct {
	dir, below, id string
	trial          Trial
}

// TrialFolder gives access to the files of the trial with this ID.
func (r *Result) TrialFolder(id string) Folder { return r.folder(trialsDir, id, r.trials) }

// BaselineFolder gives access to the files of the baseline with this ID.
func (r *Result) BaselineFolder(id string) Folder { return r.folder(baselinesDir, id, r.baselines) }

// MaximumFolder gives access to the files of the maximum with this ID.
func (r *Result) MaximumFolder(id string) Folder { return r.folder(maximaDir, id, r.maxima) }

func (r *Result) folder(below, id string, of map[string]*Trial) Folder {
	f := Folder{dir: filepath.Join(r.Dir, below, id), below: below, id: id}
	if t := of[id]; t != nil {
		f.trial = *t
	}
	return f
}

// Histograms reads latency.hlog. Extremes and mean are the summary's exact ones, if it has the same
// count.
func (f Folder) Histograms() (Histograms, error) {
	intervals, err := f.Intervals()
	if err != nil {
		return Histograms{}, err
	}
	histograms, err := sumLog(intervals)
	if err != nil {
		return Histograms{}, f.broken(HlogFile, err)
	}
	if tag := histograms.missing(); tag != "" {
		return Histograms{}, f.broken(HlogFile, fmt.Errorf("the series %s is missing", tag))
	}
	histograms.Latency.exact(f.trial.Latency)
	histograms.FromTx.exact(f.trial.FromTx)
	histograms.SendLag.exact(f.trial.SendLag)
	return histograms, nil
}

// Blocks reads the time blocks of latency.hlog; none if it has a single line for the latency: results of before rules
// 2, and trials without traffic.
func (f Folder) Blocks() ([]*Packed, error) {
	intervals, err := f.Intervals()
	if err != nil {
		return nil, err
	}
	var blocks []*Packed
	for _, interval := range intervals {
		if interval.Tag == TagLatency {
			blocks = append(blocks, interval.Histogram)
		}
	}
	if len(blocks) == 1 {
		return nil, nil
	}
	return blocks, nil
}

// Outliers reads outliers.csv: the slowest packets, in the file's order.
func (f Folder) Outliers() ([]Outlier, error) {
	return readFolderFile(f, OutliersFile, readOutliers)
}

// Rates reads rate.csv: one row per second.
func (f Folder) Rates() ([]Rate, error) { return readFolderFile(f, RateFile, readRates) }

// Details reads details.json.
func (f Folder) Details() (Details, error) {
	return readFolderFile(f, DetailsFile, func(r io.Reader) (Details, error) {
		var details Details
		err := json.NewDecoder(r).Decode(&details)
		return details, err
	})
}

// Metrics reads metrics.json; nil if the packets were not recorded.
func (f Folder) Metrics() (*Metrics, error) {
	return readOptionalJSON(f, MetricsFile, MetricsSchema, func(m *Metrics) string { return m.Schema })
}

// Causes reads causes.json; nil if the trial was not recorded.
func (f Folder) Causes() (*Causes, error) {
	return readOptionalJSON(f, CausesFile, CausesSchema, func(c *Causes) string { return c.Schema })
}

// Pair reads pair.json; nil if the trial is no pair of captures.
func (f Folder) Pair() (*Pair, error) {
	return readOptionalJSON(f, PairFile, PairSchema, func(p *Pair) string { return p.Schema })
}

// EngineLog reads engine.log, which is optional.
func (f Folder) EngineLog() ([]byte, error) {
	raw, err := f.read(EngineLogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// readOptionalJSON reads a JSON file with a schema; nil if the trial has no such file.
func readOptionalJSON[T any](f Folder, name, schema string, of func(*T) string) (*T, error) {
	value, err := readFolderFile(f, name, func(r io.Reader) (*T, error) {
		var value T
		if err := json.NewDecoder(r).Decode(&value); err != nil {
			return nil, err
		}
		if got := of(&value); got != schema {
			return nil, fmt.Errorf("its schema is %q, not %q", got, schema)
		}
		return &value, nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
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
		return nil, fmt.Errorf("%q is not a trial", f.id)
	}
	raw, err := readPlain(filepath.Join(f.dir, name))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", filepath.Join(f.below, f.id, name), errors.Unwrap(err))
	}
	return raw, nil
}

func (f Folder) broken(name string, err error) error {
	return fmt.Errorf("%s is damaged: %w", filepath.Join(f.below, f.id, name), err)
}

// safeID keeps a summary from naming files outside its folder.
func safeID(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.ContainsAny(id, `/\`)
}

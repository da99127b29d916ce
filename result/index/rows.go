package index

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/result"
)

// record is a result folder as table rows.
type record struct {
	host            []any // nil if the inventory was not kept
	result          []any
	trials          [][]any
	variables       [][]any
	searches        [][]any
	searchVariables [][]any
	findings        [][]any
}

var (
	hostColumns   = []string{"host", "hostname", "kernel", "machine", "distribution", "cpu_model", "cpus", "numa_nodes", "memory_bytes", "hypervisor", "clock", "preemption"}
	resultColumns = []string{"result", "store", "folder", "name", "started", "started_unix_ns", "host",
		"trials", "clean", "noisy", "invalid", "skipped", "baselines", "maxima", "searches", "fingerprint"}
	variableColumns       = []string{"result", "trial", "name", "value", "number"}
	searchColumns         = []string{"result", "search", "repeat", "method", "conformant", "deviations", "passed", "trials", "measuring_ns"}
	searchVariableColumns = []string{"result", "search", "name", "value", "number"}
	findingColumns        = []string{"result", "search", "finding", "name", "unit", "value", "at_least", "low", "high", "bound", "passed", "reason", "conditions", "trial"}
)

func trialNames() []string {
	names := []string{"result", "trial"}
	for _, c := range trialColumns {
		names = append(names, c.Name)
	}
	return names
}

// idOf is the key of a result: equal for the same folder of the same store.
func idOf(store, folder string) string {
	sum := sha256.Sum256([]byte(store + "\x00" + folder))
	return hex.EncodeToString(sum[:6])
}

// read converts a result folder to rows.
func (x *Index) read(f found) (*record, error) {
	dir := filepath.Join(x.root, filepath.FromSlash(f.folder))
	r, err := result.Open(dir)
	if err != nil {
		if opened := new(result.OpenError); errors.As(err, &opened) { // the folder is already named
			reason := opened.Reason
			if opened.Err != nil {
				reason += ": " + opened.Err.Error()
			}
			return nil, errors.New(reason)
		}
		return nil, err
	}
	id := idOf(x.store, f.folder)
	rec := &record{}
	var hostKey any
	if rec.host, err = hostRow(r); err != nil {
		return nil, err
	}
	if rec.host != nil {
		hostKey = rec.host[0]
	}
	verdicts := map[result.Verdict]int64{}
	names := namesOf{}
	for i := range r.Summary.Trials {
		t := &r.Summary.Trials[i]
		if err := names.add("trial", t.ID); err != nil {
			return nil, err
		}
		for name := range t.Variables {
			if err := keyLength("variable", name); err != nil {
				return nil, err
			}
		}
		verdicts[t.Verdict]++
		rec.trials = append(rec.trials, trialRow(id, t, detailsOf(r, t.ID)))
		rec.variables = append(rec.variables, variableRows(id, t.ID, t.Variables)...)
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		if err := names.add("search", s.ID); err != nil {
			return nil, err
		}
		for name := range s.Variables {
			if err := keyLength("variable", name); err != nil {
				return nil, err
			}
		}
		rec.searches = append(rec.searches, []any{id, clean(s.ID), int64(s.Repeat), clean(s.Method), s.Conformant,
			clean(strings.Join(s.Deviations, "; ")), optionalBool(s.Passed), int64(len(s.Trials)), s.MeasuringNs})
		rec.searchVariables = append(rec.searchVariables, variableRows(id, s.ID, s.Variables)...)
		for n, found := range s.Findings {
			if err := keyLength("finding", found.Name); err != nil {
				return nil, err
			}
			rec.findings = append(rec.findings, findingRow(id, s.ID, n+1, found))
		}
	}
	started := r.Summary.Started.UTC()
	if year := started.Year(); year < 1970 || year > 2200 { // the range of nanoseconds in 64 bits
		started = time.Unix(0, 0).UTC()
	}
	rec.result = []any{id, clean(x.store), clean(f.folder), clean(r.Summary.Name), started.Format(time.RFC3339), started.UnixNano(), hostKey,
		int64(len(r.Summary.Trials)), verdicts[result.Clean], verdicts[result.Noisy], verdicts[result.Invalid],
		int64(len(r.Summary.Skipped)), int64(len(r.Baselines)), int64(len(r.Maxima)), int64(len(r.Searches)), f.fingerprint}
	return rec, nil
}

// namesOf are names that may not occur twice.
type namesOf map[string]bool

func (n namesOf) add(what, name string) error {
	key := what + " " + clean(name)
	if n[key] {
		return fmt.Errorf("it has a %s %q twice", what, name)
	}
	n[key] = true
	return keyLength(what, name)
}

// longestKey keeps a key below the limit of PostgreSQL's indexes, 2,704 bytes.
const longestKey = 500

func keyLength(what, name string) error {
	if len(name) > longestKey {
		return fmt.Errorf("the name of a %s in it has %d bytes", what, len(name))
	}
	return nil
}

// detailsOf is nil if a trial's details cannot be read: the rest of the trial is still useful.
func detailsOf(r *result.Result, id string) *result.Details {
	folder := r.TrialFolder(id)
	_, path, err := folder.Path(result.DetailsFile)
	if err != nil {
		return nil
	}
	if info, err := os.Lstat(path); err != nil || plain(result.DetailsFile, info) != nil {
		return nil
	}
	details, err := folder.Details()
	if err != nil {
		return nil
	}
	return &details
}

func trialRow(id string, t *result.Trial, d *result.Details) []any {
	row := []any{id, clean(t.ID)}
	for _, c := range trialColumns {
		value := c.Of(&result.Row{Trial: t, Details: d})
		if text, ok := value.(string); ok {
			value = clean(text)
		}
		row = append(row, value)
	}
	return row
}

// variableRows has a row for each variable of a trial or a search.
func variableRows(id, of string, variables map[string]any) [][]any {
	rows := make([][]any, 0, len(variables))
	seen := map[string]bool{} // two names may be equal after cleaning
	for name, value := range variables {
		if value == nil || seen[clean(name)] {
			continue
		}
		seen[clean(name)] = true
		var number any
		if n, ok := value.(float64); ok {
			number = n
		}
		rows = append(rows, []any{id, clean(of), clean(name), clean(result.FormatVariable(value)), number})
	}
	return rows
}

func findingRow(id, search string, n int, f result.Finding) []any {
	var conditions any
	if len(f.Conditions) > 0 {
		if encoded, err := json.Marshal(f.Conditions); err == nil {
			conditions = clean(string(encoded))
		}
	}
	return []any{id, clean(search), int64(n), clean(f.Name), clean(f.Unit), optionalNumber(f.Value), f.AtLeast,
		optionalNumber(f.Low), optionalNumber(f.High), optionalNumber(f.Limit), optionalBool(f.Passed), optionalText(f.Reason), conditions, optionalText(f.Trial)}
}

// hostRow describes the machine by what stays the same between results: the rest of the inventory
// differs from run to run.
func hostRow(r *result.Result) ([]any, error) {
	raw, err := r.Host()
	if err != nil || raw == nil {
		return nil, err
	}
	var host struct {
		Hostname string
		Kernel   struct {
			Release, Machine, Preemption string
			RealTime                     bool `json:"real_time"`
		}
		Distribution   struct{ Name string }
		CPUs           []struct{ Model string }
		NUMANodes      []struct{} `json:"numa_nodes"`
		MemoryBytes    uint64     `json:"memory_bytes"`
		Virtualisation struct{ Hypervisor string }
		Clock          struct{ Source string }
	}
	if err := json.Unmarshal(raw, &host); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", result.HostFile, err)
	}
	preemption, model := host.Kernel.Preemption, ""
	if host.Kernel.RealTime {
		preemption = "realtime"
	}
	if len(host.CPUs) > 0 {
		model = host.CPUs[0].Model
	}
	row := []any{"", optionalText(host.Hostname), optionalText(host.Kernel.Release), optionalText(host.Kernel.Machine),
		optionalText(host.Distribution.Name), optionalText(model), int64(len(host.CPUs)), int64(len(host.NUMANodes)), count(host.MemoryBytes),
		optionalText(host.Virtualisation.Hypervisor), optionalText(host.Clock.Source), optionalText(preemption)}
	sum := sha256.Sum256(fmt.Append(nil, row...))
	row[0] = hex.EncodeToString(sum[:6])
	return row, nil
}

// clean makes a text acceptable to both databases: PostgreSQL refuses NUL and invalid UTF-8.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func optionalText(text string) any {
	if text == "" {
		return nil
	}
	return clean(text)
}

func optionalNumber(n *float64) any {
	if n == nil {
		return nil
	}
	return *n
}

func optionalBool(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

// count keeps an unrealistically large count from becoming negative.
func count(n uint64) any { return int64(min(n, math.MaxInt64)) }

// gone reports whether a result folder no longer exists.
func (x *Index) gone(folder string) bool {
	_, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(folder), result.SummaryFile))
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) || isNotDir(err)
}

package result

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// SearchesSchema names the format of searches.json.
const SearchesSchema = "nines/searches/v1"

// Searches is searches.json: what search methods found, one record for each combination of the
// swept variables and repeat. Their trials are in the summary.
type Searches struct {
	Schema   string   `json:"schema"`
	Searches []Search `json:"searches"`
}

// Search is the outcome of one search.
type Search struct {
	ID        string         `json:"id"` // "0001"
	Variables map[string]any `json:"variables"`
	Repeat    int            `json:"repeat"` // counted from 1
	// Method is the method's kind: "mlrsearch", "rfc2544".
	Method string `json:"method"`
	// Conformant is true if the standard's conditions were met; Deviations says which were not, and
	// why.
	Conformant bool     `json:"conformant"`
	Deviations []string `json:"deviations"`
	// Passed is set by methods that judge (y1564, soak with limits).
	Passed *bool `json:"passed,omitempty"`
	// Findings are the figures that the search was for.
	Findings []Finding `json:"findings"`
	// Trials are the IDs of its trials, in order, each with its purpose.
	Trials []SearchTrial `json:"trials"`
	// MeasuringNs is the sum of the trials' total times.
	MeasuringNs int64 `json:"measuring_ns"`
}

// SearchTrial is a trial as part of a search.
type SearchTrial struct {
	ID      string `json:"id"`
	Purpose string `json:"purpose"`
	// RatePPS is the intended rate, LossRatio the fraction of the intended packets that did not
	// arrive.
	RatePPS    float64 `json:"rate_pps"`
	DurationNs int64   `json:"duration_ns"`
	LossRatio  float64 `json:"loss_ratio"`
}

// Finding is one figure that a search found.
type Finding struct {
	// Name is the standard's: "NDR", "throughput", "back-to-back", "PDV".
	Name string `json:"name"`
	// Unit is "packets/s", "packets", "ns" or "ratio".
	Unit string `json:"unit"`
	// Value is nil if the search found none, and Reason says why.
	Value *float64 `json:"value"`
	// AtLeast is true if the value is only the least that it can be: something else, such as the generator,
	// ended the search before the network did.
	AtLeast bool `json:"at_least,omitempty"`
	// Low and High bound the value: a search's last lower and upper bound, or the confidence
	// interval of repeats.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Limit is the limit for the value; Passed says whether it was kept.
	Limit  *float64 `json:"limit,omitempty"`
	Passed *bool    `json:"passed,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Conditions are those of the figure, such as {"load": 0.5, "frame_bytes": 64}.
	Conditions map[string]any `json:"conditions,omitempty"`
	// Trial is the trial that shows it, if any.
	Trial string `json:"trial,omitempty"`
}

// SearchID is the ID of the next search, for its trials: Trial.Search.
func (w *Writer) SearchID() string { return fmt.Sprintf("%04d", len(w.searches.Searches)+1) }

// AddSearch writes what a search found, after its trials have been added, and returns it with its
// ID.
func (w *Writer) AddSearch(s Search) (Search, error) {
	s.ID = w.SearchID()
	if s.Variables == nil {
		s.Variables = map[string]any{}
	}
	s.complete()
	if err := s.check(idsIn(w.summary.Trials)); err != nil {
		return Search{}, fmt.Errorf("the search cannot be kept: %w", err)
	}
	before := w.searches.Searches
	w.searches.Searches = append(before[:len(before):len(before)], s)
	if err := w.writeJSON(SearchesFile, w.searches); err != nil {
		w.searches.Searches = before
		return Search{}, err
	}
	return s, nil
}

// Searches returns those that have been written so far.
func (w *Writer) Searches() []Search { return slices.Clone(w.searches.Searches) }

// complete replaces nil lists by empty ones, so that JSON has [] instead of null.
func (s *Search) complete() {
	if s.Deviations == nil {
		s.Deviations = []string{}
	}
	if s.Findings == nil {
		s.Findings = []Finding{}
	}
	if s.Trials == nil {
		s.Trials = []SearchTrial{}
	}
}

func idsIn(trials []Trial) map[string]bool {
	known := make(map[string]bool, len(trials))
	for _, t := range trials {
		known[t.ID] = true
	}
	return known
}

// check checks what readers rely on, against the IDs of the summary's trials.
func (s *Search) check(known map[string]bool) error {
	var wrong []error
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	for _, t := range s.Trials {
		if !known[t.ID] {
			say("its trial %q is not in the summary", t.ID)
		}
	}
	for _, f := range s.Findings {
		if f.Trial != "" && !known[f.Trial] {
			say("the trial %q of its finding %q is not in the summary", f.Trial, f.Name)
		}
		for _, figure := range []*float64{f.Value, f.Low, f.High, f.Limit} {
			if figure != nil && (math.IsNaN(*figure) || math.IsInf(*figure, 0)) {
				say("its finding %q has a figure that is not a number", f.Name)
			}
		}
		if f.Value == nil && f.Reason == "" {
			say("its finding %q has neither a value nor a reason", f.Name)
		}
	}
	if s.Repeat < 1 {
		say("its repeat is %d, but is counted from 1", s.Repeat)
	}
	if s.Method == "" {
		say("it has no method")
	}
	if !s.Conformant && len(s.Deviations) == 0 {
		say("it is not conformant and does not say why")
	}
	return errors.Join(wrong...)
}

// keepSearches skips what cannot be shown: a file may come from anyone.
func (r *Result) keepSearches(all []Search) {
	seen, known := make(map[string]bool, len(all)), idsIn(r.Summary.Trials)
	for _, s := range all {
		switch {
		case !safeID(s.ID):
			r.problem("%s: a search has the ID %q", SearchesFile, s.ID)
			continue
		case seen[s.ID]:
			r.problem("%s: two searches have the ID %q; the first is kept", SearchesFile, s.ID)
			continue
		}
		seen[s.ID] = true
		s.complete()
		if err := s.check(known); err != nil {
			r.problem("%s: search %s: %v", SearchesFile, s.ID, err)
		}
		r.Searches = append(r.Searches, s)
	}
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nines.dev/nines/test/labtest"
)

// record is what is known of a package's tests.
type record struct {
	// Binary is the content of the tests that this is known of.
	Binary string
	// Skipped has, by test, what it or one of its subtests said when it was last skipped.
	Skipped map[string][]string
	// Seconds is how long the package took, and CPU how many seconds of CPU that was without what its daemons
	// used, by pass and part.
	Seconds, CPU map[string]float64
	// Failed are the tests that failed, by pass.
	Failed map[string][]string
	// Guarantees are the tests of a guarantee among those that have run (labtest.Guarantee).
	Guarantees []string
	// LeftOut has what a test lacked that no later pass runs, by pass and test.
	LeftOut map[string]map[string]string

	mu sync.Mutex // parts of a package may run at a time
}

// skipped keeps what a test said when it was skipped, which may be nothing.
func (r *record) skipped(test string, said []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.Skipped, test)
	if len(said) > 0 {
		r.Skipped[test] = said
	}
}

// ended keeps which tests have failed, and how long it took unless that is 0.
func (r *record) ended(w work, failed []string, took, cpu time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, test := range failed {
		if !slices.Contains(r.Failed[w.pass], test) {
			r.Failed[w.pass] = append(r.Failed[w.pass], test)
		}
	}
	if took > 0 {
		r.Seconds[w.name()], r.CPU[w.name()] = took.Seconds(), cpu.Seconds()
	}
}

// guarantee keeps that a test is one of a guarantee.
func (r *record) guarantee(test string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.Guarantees, test) {
		r.Guarantees = append(r.Guarantees, test)
	}
}

// repeatable parts the tests that failed in a pass: those to run once more, and those that have failed for good. These
// test a guarantee, or are what is found of the files that the package's tests open. A package that ended without a
// failed test may have done so in one of them.
func (r *record) repeatable(pass string) (again, never []string) {
	for _, test := range r.Failed[pass] {
		if test == surpriseTest || slices.Contains(r.Guarantees, test) || test == wholePackage && len(r.Guarantees) > 0 {
			never = append(never, test)
		} else {
			again = append(again, test)
		}
	}
	return again, never
}

func (p *testPackage) recordFile() string { return filepath.Join(folder, p.name()+".json") }

// readRecord gives what is known of the compiled tests, and false if a pure pass has not
// been over just these. How long they took is as good as known from their last form.
func (p *testPackage) readRecord() (*record, bool, error) {
	binary, err := hashOf(p.binary())
	if err != nil {
		return nil, false, err
	}
	r := &record{Seconds: map[string]float64{}, CPU: map[string]float64{}, LeftOut: map[string]map[string]string{}}
	if text, err := os.ReadFile(p.recordFile()); err == nil && json.Unmarshal(text, r) == nil && r.Binary == binary {
		return r, true, nil
	}
	return &record{Binary: binary, Skipped: map[string][]string{}, Seconds: r.Seconds, CPU: r.CPU, Failed: map[string][]string{}, LeftOut: map[string]map[string]string{}}, false, nil
}

func (p *testPackage) writeRecord(r *record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(p.recordFile(), append(text, '\n'), 0o644)
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// isFor reports whether a pass after the pure one has to run a test that said this when it
// was skipped.
func isFor(pass string, said []string) bool {
	return slices.ContainsFunc(said, func(text string) bool {
		switch labtest.NeedOf(text) {
		case labtest.NeedThere:
			return pass == labtest.PassRoot
		case labtest.NeedHost:
			return pass == labtest.PassHost
		case labtest.NeedQuiet:
			return pass == labtest.PassQuiet
		case labtest.NeedLab, labtest.NeedLongForm, labtest.NeedNone, labtest.NeedUnknown:
		}
		return false
	})
}

// isLost reports whether a test that says this in a pass is skipped in every pass.
func isLost(pass, said string) bool {
	switch labtest.NeedOf(said) {
	case labtest.NeedThere:
		return pass != labtest.PassPure
	case labtest.NeedHost:
		return pass == labtest.PassHost
	case labtest.NeedQuiet:
		return pass == labtest.PassQuiet
	case labtest.NeedUnknown:
		return true
	case labtest.NeedLab, labtest.NeedLongForm, labtest.NeedNone:
	}
	return false
}

// reason is the last line that a skipped test logged, which says why.
func reason(output string) string {
	said := ""
	for line := range strings.Lines(output) {
		if _, after, found := strings.Cut(line, ".go:"); found {
			_, said, _ = strings.Cut(strings.TrimSpace(after), ": ")
		}
	}
	return said
}

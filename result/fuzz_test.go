package result

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzHlog: a log may come from anyone; an unreadable one is an error.
func FuzzHlog(f *testing.F) {
	r := record(1, 2) // short, because the fuzzer shrinks its findings
	var log bytes.Buffer
	if err := writeHlog(&log, r.Histograms, nil, span{start: testStart, duration: time.Second}); err != nil {
		f.Fatal(err)
	}
	f.Add(log.Bytes())
	f.Add([]byte("Tag=latency\n#[StartTime: x\n,,,\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		histograms, err := readHlog(raw)
		if err != nil {
			return
		}
		for _, s := range histograms.series() {
			if h := *s.histogram; h != nil {
				h.Percentiles()
				h.Curve()
			}
		}
	})
}

// FuzzDecodeHistogram: what the API server keeps of a node may have been written by anyone.
func FuzzDecodeHistogram(f *testing.F) {
	encoded, err := histogramOf(1000, 2000, HighestNs).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Add("HISTFAAAABx42pNpmSzMwMDABAUQmhGhwP4HEwAK3QID")
	f.Fuzz(func(_ *testing.T, encoded string) {
		h, err := DecodeHistogram(encoded)
		if err != nil {
			return
		}
		sum := histogramOf(1)
		sum.Merge(h)
		sum.Percentiles()
	})
}

// FuzzTables: what was read from a CSV file is written again unchanged.
func FuzzTables(f *testing.F) {
	r := record(1, 2)
	var outliers, rates bytes.Buffer
	if err := writeOutliers(&outliers, r.Outliers[:1]); err != nil {
		f.Fatal(err)
	}
	if err := writeRates(&rates, r.Rates); err != nil {
		f.Fatal(err)
	}
	f.Add(outliers.Bytes())
	f.Add(rates.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if read, err := readOutliers(bytes.NewReader(raw)); err == nil {
			var again bytes.Buffer
			if err := writeOutliers(&again, read); err != nil {
				t.Fatal(err)
			}
			if second, err := readOutliers(&again); err != nil || len(second) != len(read) {
				t.Fatalf("%d rows became %d: %v", len(read), len(second), err)
			}
		}
		if read, err := readRates(bytes.NewReader(raw)); err == nil {
			var again bytes.Buffer
			if err := writeRates(&again, read); err != nil {
				t.Fatal(err)
			}
			if second, err := readRates(&again); err != nil || len(second) != len(read) {
				t.Fatalf("%d rows became %d: %v", len(read), len(second), err)
			}
		}
	})
}

// FuzzOpen: a summary may come from anyone; an unreadable one is an error.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"schema":"nines/result/v1","trials":[{"id":"0001","latency_ns":{"p50":null}}]}`))
	f.Add([]byte(`{"schema":7}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil {
			return
		}
		for _, trial := range r.Summary.Trials {
			if _, err := r.TrialFolder(trial.ID).Histograms(); err == nil {
				t.Error("histograms were read where there are none")
			}
		}
	})
}

// FuzzWithoutEnv: an experiment file that someone else wrote is shown, however its parts name one
// another.
func FuzzWithoutEnv(f *testing.F) {
	for _, text := range []string{"nodes: {a: {env: {TOKEN: hush}}}\n", "a: &x {env: *x}\n", "a: &x [*x]\nenv: *x\n", "env: &y {<<: *y}\n", "? {env: hush}\n: env\n", "env: hush\nx: !!binary aHVzaA==\n", "%YAML 1.2\n---\nenv: {a: |+\n  hush\n\n}\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		withoutSecrets([]byte(withoutSecrets(text)))
	})
}

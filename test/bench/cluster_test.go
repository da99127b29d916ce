package main

import (
	"fmt"
	"testing"
	"time"
)

func TestSchedulerRowsCompareMedians(t *testing.T) {
	runs := schedulerRuns{}
	for _, run := range []struct {
		scheduler string
		pods      float64
		cpu       time.Duration
	}{
		{"Default", 100, 150}, {"Nines", 95, 155}, {"Nines", 80, 160}, {"Default", 120, 140}, {"NinesRequest", 60.5, 400},
		{"Default", 110, 145}, {"Nines", 100, 150}, {"Nines", 98, 152}, {"Default", 112, 143}, {"NinesRequest", 61, 410},
		{"Default", 50, 190}, {"Nines", 45, 200}, {"Nines", 47, 220}, {"Default", 52, 210}, {"NinesRequest", 62, 390},
	} {
		out := fmt.Sprintf(`goos: linux
BenchmarkScheduling/%s/5000Nodes_10000Pods-2   1   9.7 SchedulingDuration/Duration   %.1f SchedulingThroughput/Average   90 SchedulingThroughput/Perc50
`, run.scheduler, run.pods)
		if err := runs.add(run.scheduler, []byte(out), run.cpu*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	rows := runs.rows()
	if rows[0].Value != 87.5 || rows[0].PeerValue != 110 || rows[0].met(rows[0].Ratio) || rows[1].Value != 157.5 || rows[1].PeerValue != 145 || rows[2].Value != 61 {
		t.Errorf("rows are %+v", rows)
	}
	for _, broken := range []string{"", "PASS\n", "BenchmarkScheduling/Nines/x-2 1 5 SchedulingThroughput/Average\n"} {
		if err := runs.add("Default", []byte(broken), time.Second); err == nil {
			t.Errorf("%q gives %+v", broken, runs)
		}
	}
}

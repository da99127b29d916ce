package main

import "testing"

func TestClusterRowsCompareMedians(t *testing.T) {
	out := []byte(`goos: linux
BenchmarkScheduling/Default/5000Nodes_10000Pods-2   1   9.7 SchedulingDuration/Duration   100.0 SchedulingThroughput/Average   90 SchedulingThroughput/Perc50
BenchmarkScheduling/Nines/5000Nodes_10000Pods-2     1   9.7 SchedulingDuration/Duration   95.0 SchedulingThroughput/Average
BenchmarkScheduling/NinesWish/5000Nodes_10000Pods-2 1   9.7 SchedulingDuration/Duration   60.5 SchedulingThroughput/Average
BenchmarkScheduling/Default/5000Nodes_10000Pods-2   1   9.7 SchedulingDuration/Duration   120 SchedulingThroughput/Average
BenchmarkScheduling/Nines/5000Nodes_10000Pods-2     1   9.7 SchedulingDuration/Duration   80 SchedulingThroughput/Average
BenchmarkScheduling/NinesWish/5000Nodes_10000Pods-2 1   9.7 SchedulingDuration/Duration   61 SchedulingThroughput/Average
BenchmarkScheduling/Default/5000Nodes_10000Pods-2   1   9.7 SchedulingDuration/Duration   110 SchedulingThroughput/Average
BenchmarkScheduling/Nines/5000Nodes_10000Pods-2     1   9.7 SchedulingDuration/Duration   100 SchedulingThroughput/Average
BenchmarkScheduling/NinesWish/5000Nodes_10000Pods-2 1   9.7 SchedulingDuration/Duration   62 SchedulingThroughput/Average
`)
	rows, err := clusterRows(out)
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Value != 95 || rows[0].PeerValue != 110 || rows[0].met(rows[0].Ratio) || rows[1].Value != 61 {
		t.Errorf("rows are %+v", rows)
	}
	for _, broken := range []string{"", "PASS\n", "BenchmarkScheduling/Default/x-2 1 5 SchedulingThroughput/Average\n"} {
		if rows, err := clusterRows([]byte(broken)); err == nil {
			t.Errorf("%q gives %+v", broken, rows)
		}
	}
}

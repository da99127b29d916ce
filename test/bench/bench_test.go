package main

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

func TestMedianIsAMeasuredValue(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

// The lines are sockperf 3.7's.
func TestSockperfFigures(t *testing.T) {
	client := "sockperf: Total of 575414 messages sent in 1.001 sec\n\nsockperf: Summary: Message Rate is 575119 [msg/sec]\n"
	server := "sockperf: Test end (interrupted by user)\nsockperf: Total 441865 messages received and handled\n"
	pingPong := "sockperf: ---> percentile 99.000 =   51.1\nsockperf: ---> percentile 50.000 =   30.602\n"
	if rate, err := sockperfFigure(messageRate, client); err != nil || rate != 575119 {
		t.Errorf("message rate %v, %v", rate, err)
	}
	if all, err := sockperfFigure(handled, server); err != nil || all != 441865 {
		t.Errorf("handled %v, %v", all, err)
	}
	if p50, err := sockperfFigure(medianUsec, pingPong); err != nil || p50 != 30.602 {
		t.Errorf("median %v, %v", p50, err)
	}
	if _, err := sockperfFigure(medianUsec, "sockperf: ERROR"); err == nil || !strings.Contains(err.Error(), "ERROR") {
		t.Errorf("output without the figure: %v, want it quoted", err)
	}
}

// The JSON is what is read of iperf3 3.12's.
func TestIperf3Figures(t *testing.T) {
	out := `{"start": {}, "end": {"sum": {"seconds": 2, "packets": 1000, "lost_packets": 10, "sender": true}}}`
	if sent, received, err := iperf3Figures([]byte(out)); err != nil || sent != 500 || received != 495 {
		t.Errorf("sent %v, received %v, %v", sent, received, err)
	}
	for _, bad := range []string{"", `{"start": {}, "end": {}, "error": "unable to connect to server"}`} {
		if _, _, err := iperf3Figures([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
	if _, _, err := iperf3Figures([]byte(`{"error": "unable to connect"}`)); err == nil || !strings.Contains(err.Error(), "unable to connect") {
		t.Errorf("%v, want iperf3's own words", err)
	}
}

func TestTableMarksWhatIsNotMet(t *testing.T) {
	twice, met := atLeast(2)
	var out bytes.Buffer
	err := printTable(&out, []Row{
		compare("fast", "kpps", 30, "peer", 10, twice, met),
		compare("slow", "kpps", 10, "peer", 10, twice, met),
		compare("no peer", "kpps", 10, "peer", 0, twice, met),
		compare("tiny", "µs", 1, "peer", 4000, twice, met),
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[4], "0.00025") {
		t.Errorf("line %q hides by how much", lines[4])
	}
	for i, want := range []string{" met", "NOT MET", "NOT MET"} {
		if !strings.HasSuffix(strings.TrimRight(lines[i+1], " "), want) {
			t.Errorf("line %q does not end in %q", lines[i+1], want)
		}
	}
}

func TestGroupsAreChosenByName(t *testing.T) {
	if chosen, err := choose([]string{"scale"}); err != nil || len(chosen) != 1 || chosen[0].name != "scale" {
		t.Errorf("choose(scale) = %v, %v", chosen, err)
	}
	if _, err := choose([]string{"speed"}); err == nil {
		t.Error("an unknown group was taken")
	}
}

func TestSwitchCostsAreHeldAgainstTwoPorts(t *testing.T) {
	costs := make(map[string][]float64)
	for _, disturbed := range []string{"11", "30", "11"} {
		err := addCosts(costs, []byte(`{"2_ports": {"median_ns": 10}, "16_ports": {"median_ns": `+disturbed+`},
			"2_of_16_ports": {"median_ns": 10}, "10000_macs": {"median_ns": 12}, "16_ports_10000_macs": {"median_ns": 10}}`))
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := costRows(costs)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %v", rows, err)
	}
	if !rows[0].met(rows[0].Ratio) || rows[2].met(rows[2].Ratio) {
		t.Errorf("a tenth more should be met, a fifth not: %v", rows)
	}
	delete(costs, "10000_macs")
	if _, err := costRows(costs); err == nil {
		t.Error("a case without a figure was taken")
	}
	if err := addCosts(costs, []byte("none")); err == nil {
		t.Error("nonsense was taken for figures")
	}
}

func TestRecordingIsHeldAgainstTheSameWithout(t *testing.T) {
	row, err := memoryRow([]byte(`{"without_mpps": [30, 31, 20], "with_mpps": [28, 27, 29], "records": 90, "lost": 10}`))
	if err != nil || row.Value != 28 || row.PeerValue != 30 || !row.met(row.Ratio) || !strings.Contains(row.Name, "10.00 % lost") {
		t.Errorf("%+v, %v", row, err)
	}
	row, err = memoryRow([]byte(`{"without_mpps": [30], "with_mpps": [26.9], "records": 90, "lost": 0}`))
	if err != nil || row.met(row.Ratio) || strings.Contains(row.Name, "lost") {
		t.Errorf("%+v, %v: more than a tenth is too much", row, err)
	}
	row, err = listsRow([]byte(`{"least_ns_per_packet": 20, "stage_ns": {"turn": 6.4}}`))
	if err != nil || row.Value != 0.1 || !row.met(row.Ratio) {
		t.Errorf("%+v, %v", row, err)
	}
	row, err = arrivalsRow([]byte(`{"without_ns": [20, 18, 20], "with_ns": [20.8, 20.8, 20]}`))
	if err != nil || row.met(row.Ratio) {
		t.Errorf("4 %% more: %+v, %v", row, err)
	}
	if _, err := memoryRow([]byte("none")); err == nil {
		t.Error("nonsense was taken for figures")
	}
}

// Each of a whole host's disturbers works at least once, or does not start, and ends cleanly.
func TestDisturberDisturbs(t *testing.T) {
	labtest.Root(t)
	d, err := startDisturber(t.Context(), 1, wholeHost...)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.processes) != len(wholeHost) {
		t.Errorf("%d processes, want %d", len(d.processes), len(wholeHost))
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	if d, err := startDisturber(t.Context(), 1, []string{"--kind", "flood"}); err == nil {
		t.Errorf("a kind that is not known: %v, %v", d.processes, d.stop())
	}
}

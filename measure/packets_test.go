package measure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/recording"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// checkPackets compares the rows of a trial with its counts and histograms, and its metrics with
// both. It returns the metrics.
func checkPackets(t *testing.T, dir string, trial result.Trial) *result.Metrics {
	t.Helper()
	opened, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := opened.TrialFolder(trial.ID)
	var sent, received, duplicates, reordered uint64
	histogram, lags := result.NewHistogram(), result.NewHistogram()
	byArrival := make(map[uint32]uint32)
	complete, err := folder.Packets(func(rows []result.Packet) error {
		for _, p := range rows {
			sent++
			lags.Record(p.TxNs - p.IntendedNs)
			duplicates += uint64(p.Duplicates)
			if p.RxNs == nil {
				continue
			}
			received++
			histogram.Record(*p.LatencyNs)
			byArrival[*p.Arrival] = p.ID
			if off := *p.RxNs - p.IntendedNs - *p.LatencyNs; off < -1 || off > 1 {
				return fmt.Errorf("packet %d: received − intended is %d ns off its latency", p.ID, off)
			}
		}
		return nil
	})
	if err != nil || !complete {
		t.Fatalf("complete %v, %v", complete, err)
	}
	next := uint32(0)
	for i := range uint32(received) {
		id, there := byArrival[i]
		if !there {
			t.Fatalf("no packet is the %d-th to arrive", i)
		}
		if id < next {
			reordered++
		}
		next = max(next, id+1)
	}
	if sent != trial.TxPackets || received != trial.RxPackets || duplicates != trial.DuplicatePackets || reordered != trial.ReorderedPackets {
		t.Errorf("rows: sent %d, received %d, duplicates %d, reordered %d; the trial has %d, %d, %d, %d", sent, received,
			duplicates, reordered, trial.TxPackets, trial.RxPackets, trial.DuplicatePackets, trial.ReorderedPackets)
	}
	histograms, err := folder.Histograms()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(histograms.Latency.Curve(), histogram.Curve()); diff != "" {
		t.Errorf("the rows' latencies are not those of latency.hlog (-hlog +rows):\n%s", diff)
	}
	if diff := cmp.Diff(histograms.SendLag.Curve(), lags.Curve()); diff != "" {
		t.Errorf("the rows' send lags are not those of latency.hlog (-hlog +rows):\n%s", diff)
	}
	m, err := folder.Metrics()
	if err != nil || m == nil {
		t.Fatalf("metrics %v, %v", m, err)
	}
	a := m.All
	if a.Sent != sent || a.Received != received || a.Lost != trial.LostPackets || a.Duplicates != duplicates || a.Reordering.Reordered != reordered {
		t.Errorf("metrics: %+v", a)
	}
	if a.Latency.Count > 0 && (*a.Latency.Min != *trial.Latency.Min || *a.Latency.Max != *trial.Latency.Max) {
		t.Errorf("metrics: latency %d to %d, the summary %d to %d", *a.Latency.Min, *a.Latency.Max, *trial.Latency.Min, *trial.Latency.Max)
	}
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	if r := details.Recording; r == nil || !r.Complete || r.Packets != sent || len(r.Problems) > 0 {
		t.Errorf("details: recording %+v", r)
	}
	return m
}

func scratchFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "packets"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // its content has been read
	return f
}

// TestFaultsShowInTheMetrics sends through a port that drops, duplicates, reorders and delays, and
// checks its counts:
//
//	engine ── fault ── memory ──╮
//	   ╰────────────────────────╯
func TestFaultsShowInTheMetrics(t *testing.T) {
	sent, received := scratchFile(t), scratchFile(t)
	engine := labtest.StartEngine(t, "", sent, received)
	if _, err := engine.Open(client.Port{Name: "f", Backend: "fault", Interface: "loop", Wait: "spin", Flows: 3,
		Fault: &client.Fault{Drop: 0.02, Duplicate: 0.03, Reorder: 0.04, Corrupt: 0.01, Delay: 0.02, DelayNs: 300_000, Seed: 5}}); err != nil {
		t.Fatal(err)
	}
	stream := spec.Traffic{RatePPS: 50_000, Duration: spec.Duration(300 * time.Millisecond), FrameBytes: 64, FlowField: spec.FlowSourceAddress}
	r, err := engine.Trial(client.Trial{Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: "f", Rx: "f", RatePPS: stream.RatePPS}},
		DurationNs: int64(stream.Duration), DrainNs: 50e6, Outliers: 10, RecordSent: "fd:3", RecordReceived: "fd:4"}, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Recordings) != 2 || r.Recordings[0].Records != r.TxPackets || r.Recordings[1].Records != r.RxPackets+r.DuplicatePackets {
		t.Fatalf("recordings %+v of %d sent", r.Recordings, r.TxPackets)
	}
	rec, err := record(observation{
		outcome: traffic.Outcome{Tx: r, Rx: r, Loop: true}, stream: stream,
	}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	recorded := &traffic.Recorded{Sent: sent, Received: received}
	opened, err := recording.Open(sent, received)
	if err != nil {
		t.Fatal(err)
	}
	from := plan.Traffic{Stream: stream, From: plan.Port{LocalIP: "198.18.0.255"}}
	keepRecording(&rec, opened, recorded, func(flow int) string { return flowName(from, flow) })
	writer, err := result.Create(t.TempDir(), "faults", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	trial, err := writer.AddTrial(rec)
	if err != nil {
		t.Fatal(err)
	}
	m := checkPackets(t, writer.Dir(), trial)
	if err := opened.Close(); err != nil {
		t.Error(err)
	}

	did := make(map[string]uint64)
	for _, drop := range r.Drops {
		did[drop.Name] = drop.Count
	}
	a := m.All
	if lost := did["fault_dropped"] + did["fault_corrupted"] + did["fault_held"]; a.Lost != lost || lost == 0 {
		t.Errorf("lost %d, the port dropped %d", a.Lost, lost)
	}
	if a.Duplicates != did["fault_duplicated"] || a.Duplicates == 0 {
		t.Errorf("duplicates %d, the port made %d", a.Duplicates, did["fault_duplicated"])
	}
	if a.Reordering.Reordered != did["fault_reordered"] || a.Reordering.Reordered == 0 || a.Reordering.LateMaxNs < 100_000 {
		t.Errorf("reordering %+v, the port reordered %d, some by 300 µs", a.Reordering, did["fault_reordered"])
	}
	var runs uint64
	for _, run := range a.LossRuns {
		runs += run.Length * run.Count
	}
	if runs != a.Lost {
		t.Errorf("runs of %d lost packets, of %d", runs, a.Lost)
	}
	if len(m.Flows) != 3 || m.Flows[1].Flow != "source address 198.18.1.0" {
		t.Fatalf("flows %+v", m.Flows)
	}
	var flows result.FlowMetrics
	for _, f := range m.Flows {
		flows.Sent, flows.Lost, flows.Duplicates = flows.Sent+f.Sent, flows.Lost+f.Lost, flows.Duplicates+f.Duplicates
	}
	if flows.Sent != a.Sent || flows.Lost != a.Lost || flows.Duplicates != a.Duplicates {
		t.Errorf("the flows together: %+v", flows)
	}
}

// TestEveryPacketIsKept runs both roles on real networks, one with its ends in containers that
// cannot see the result folder.
func TestEveryPacketIsKept(t *testing.T) {
	labtest.Experiment(t)
	for _, test := range []struct {
		name, network string
		sets          []string
	}{
		{"keeploop", loopNetwork, []string{"traffic.backend=raw", "traffic.io=batch", "traffic.flows=4", "traffic.burst=8"}},
		{"keeppair", pairNetwork, []string{"topology.nodes={a: {runtime: lxc}, b: {runtime: lxc}}"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			experiment, writer := prepare(t, test.name, test.network, append(test.sets, "traffic.packets=record", "repeat=2", "traffic.duration=1500ms")...)
			unnamed := func() {
				entries, err := filepath.Glob(filepath.Join(writer.Dir(), ".*"))
				if err != nil || len(entries) > 0 {
					t.Errorf("while it is measured, the folder holds %v, %v", entries, err)
				}
			}
			if err := measureAll(context.Background(), experiment, writer, silent{began: unnamed, received: unnamed}); err != nil {
				t.Fatal(err)
			}
			noLabLeft(t)
			trials := writer.Summary().Trials
			if len(trials) != 2 {
				t.Fatalf("%d trials", len(trials))
			}
			for _, trial := range trials {
				if trial.RxPackets == 0 {
					t.Error("nothing was received")
				}
				m := checkPackets(t, writer.Dir(), trial)
				if want := strings.Count(fmt.Sprint(test.sets), "flows=4") * 4; len(m.Flows) != want {
					t.Errorf("%d flows, want %d", len(m.Flows), want)
				}
			}
			opened, err := result.Open(writer.Dir())
			if err != nil || len(opened.Baselines) == 0 {
				t.Fatalf("baselines: %v", err)
			}
			if _, err := opened.BaselineFolder(opened.Baselines[0].ID).Packets(nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a baseline's packets: %v", err)
			}
		})
	}
}

// TestAFullDiskCostsTheRecordingOnly records onto a disk that has room for the result but not for
// the recording.
func TestAFullDiskCostsTheRecordingOnly(t *testing.T) {
	labtest.Experiment(t)
	trial, folder, details := ontoFullDisk(t)
	roomy := func(r *result.Recording) bool { return r != nil && r.SentLost+r.ReceivedLost == 0 }
	for try := 1; roomy(details.Recording) && trial.TxPackets < details.IntendedPackets && try < 10; try++ {
		t.Logf("a busy host sent %d of %d packets, which the disk had room for: again", trial.TxPackets, details.IntendedPackets)
		trial, folder, details = ontoFullDisk(t)
	}
	kept := details.Recording
	if kept == nil || kept.Complete || kept.SentLost+kept.ReceivedLost == 0 || !strings.Contains(strings.Join(kept.Problems, "\n"), "No space left on device") {
		t.Errorf("recording %+v", kept)
	}
	if trial.RxPackets == 0 || trial.Latency.Count != trial.RxPackets {
		t.Errorf("received %d, latencies of %d", trial.RxPackets, trial.Latency.Count)
	}
	if m, err := folder.Metrics(); m != nil || err != nil {
		t.Errorf("metrics of a part: %v, %v", m, err)
	}
	if !strings.Contains(strings.Join(details.Notes, "\n"), "no metrics") {
		t.Errorf("the notes do not say it: %q", details.Notes)
	}
}

// ontoFullDisk records 40,000 packets onto a disk without room for them.
func ontoFullDisk(t *testing.T) (result.Trial, result.Folder, result.Details) {
	t.Helper()
	experiment, _ := prepare(t, "keepfull", loopNetwork, "traffic.packets=record", "traffic.rate_pps=20000", "traffic.duration=2s")
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=900k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The writer has its folder open.
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	writer, err := result.Create(disk, "keepfull", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
		t.Fatal(err)
	}
	noLabLeft(t)
	opened, err := result.Open(writer.Dir())
	if err != nil || len(opened.Summary.Trials) != 1 {
		t.Fatalf("%+v, %v", opened, err)
	}
	folder := opened.TrialFolder(opened.Summary.Trials[0].ID)
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	return opened.Summary.Trials[0], folder, details
}

// A recording that disagrees with the engines is reported as incomplete.
func TestARecordingThatLacksPacketsHasNoMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		recorded traffic.Recorded
		want     string
	}{
		"a slow disk": {traffic.Recorded{ReceivedLost: 7, Problems: []string{"the disk is too slow for it"}}, "too slow"},
		"unreadable":  {traffic.Recorded{Problems: []string{"it was not finished"}}, "not finished"},
	} {
		rec := result.Record{}
		keepRecording(&rec, nil, &test.recorded, nil)
		if r := rec.Details.Recording; r.Complete || rec.Metrics != nil || rec.Packets != nil || !strings.Contains(strings.Join(r.Problems, "\n"), test.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

package analyze

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

func analyze(t *testing.T, o Options) *Analysis {
	t.Helper()
	a, err := Analyze(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

var plainPcap = packetfile.Layout{Format: packetfile.Pcap}

// The analysis finds what happened in the network, with each key.
func TestTruth(t *testing.T) {
	for seed := range uint64(4) {
		for _, key := range []Key{Content, Nines, Flow} {
			t.Run(fmt.Sprintf("%d/%s", seed, key), func(t *testing.T) {
				c := network(seed, 20000)
				c.PauseNs, c.Keep, c.FirstID = 0, true, 1<<32-10000 // ids wrap
				c.DuplicatePre = 0                                  // nobody can tell them apart
				pre, post, truth := writePair(t, c, plainPcap, ".pcap")
				a := analyze(t, Options{Pre: pre, Post: post, Key: key})
				r, err := a.record(context.Background(), &a.Direction)
				if err != nil {
					t.Fatal(err)
				}
				if r.Trial.TxPackets != truth.Sent || r.Trial.RxPackets != truth.Received || r.Trial.LostPackets != truth.Lost || r.Trial.DuplicatePackets != truth.DuplicatesPost {
					t.Errorf("%+v, want %+v", r.Trial, truth)
				}
				if r.Metrics.All.Reordering.Reordered != truth.Reordered {
					t.Errorf("%d reordered, want %d", r.Metrics.All.Reordering.Reordered, truth.Reordered)
				}
				stream, err := a.stream()
				if err != nil {
					t.Fatal(err)
				}
				defer stream.free()
				for i, sent := range truth.SentNs {
					want := truth.LatencyNs[i]
					got := int64(synthetic.Lost)
					if stream.receivedNs[i] != lost {
						got = stream.receivedNs[i] - stream.sentNs[i]
					}
					if stream.sentNs[i] != sent || got != want {
						t.Fatalf("packet %d: sent at %d with latency %d, want %d and %d", i, stream.sentNs[i], got, sent, want)
					}
				}
				if key == Content && len(r.Metrics.Flows) != c.Flows {
					t.Errorf("%d flows, want %d", len(r.Metrics.Flows), c.Flows)
				}
			})
		}
	}
}

// Time separates ids that repeat after more than five seconds, but not sooner.
func TestIDsComeAgain(t *testing.T) {
	for _, c := range []struct {
		modulo    uint32
		ambiguous uint64
	}{{600, 0}, {400, 3000}} {
		t.Run(fmt.Sprint(c.modulo), func(t *testing.T) {
			pre, post, truth := writePair(t, synthetic.Config{Packets: 3000, GapNs: 10_000_000, LatencyNs: 50_000, JitterNs: 1000, LossRatio: 0.01, IDModulo: c.modulo}, plainPcap, ".pcap")
			a, err := Analyze(context.Background(), Options{Pre: pre, Post: post, Key: Nines})
			if c.ambiguous > 0 {
				if err == nil || !strings.Contains(err.Error(), "more than once") || !strings.Contains(err.Error(), "3,000 ambiguous") {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if a.Counts.PreAmbiguous != 0 || a.Counts.Lost != truth.Lost || a.Counts.Pairs != truth.Received {
				t.Errorf("%+v, want %+v", a.Counts, truth)
			}
		})
	}
}

func TestRoutedPaths(t *testing.T) {
	c := synthetic.Config{Packets: 500, LatencyNs: 9000, Routed: true}
	pre, post, _ := writePair(t, c, plainPcap, ".pcap")
	_, err := Analyze(context.Background(), Options{Pre: pre, Post: post, Key: Published})
	for _, want := range []string{"no packet in common", "--key content", "TTL 64", "TTL 63", "key 0800", "id 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if a := analyze(t, Options{Pre: pre, Post: post}); a.Counts.Pairs != 500 {
		t.Errorf("%+v", a.Counts)
	}
}

func TestBadPairs(t *testing.T) {
	good := synthetic.Config{Packets: 2000, LatencyNs: 9000, JitterNs: 500}
	pre, post, _ := writePair(t, good, plainPcap, ".pcap")
	elsewhere := good
	elsewhere.FirstID, elsewhere.Seed = 1<<20, 9
	otherPre, _, _ := writePair(t, elsewhere, plainPcap, ".pcap")
	apart := good
	apart.OffsetNs = 180e9
	_, apartPost, _ := writePair(t, apart, plainPcap, ".pcap")
	dir := t.TempDir()
	copied, empty, none := filepath.Join(dir, "copy.pcap"), filepath.Join(dir, "empty.pcap"), filepath.Join(dir, "none.pcap")
	raw, err := os.ReadFile(pre)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{copied: raw, empty: {}, none: raw[:24]} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link.pcap")
	if err := os.Symlink(pre, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"swapped":      {Options{Pre: post, Post: pre}, []string{"swapped", "nines analyze " + pre + " " + post, "2,000 of 2,000"}},
		"same file":    {Options{Pre: pre, Post: link}, []string{"the same file"}},
		"copy":         {Options{Pre: pre, Post: copied}, []string{"copies of one capture"}},
		"nothing":      {Options{Pre: pre, Post: otherPre}, []string{"no packet in common", "id 0", "id 1048576", pre + " begins with"}},
		"minutes":      {Options{Pre: pre, Post: apartPost}, []string{"3m0.0000", "--offset -3m0.0000"}},
		"empty":        {Options{Pre: pre, Post: empty}, []string{"empty.pcap", "0 bytes"}},
		"no packets":   {Options{Pre: none, Post: post}, []string{"none.pcap", "no packets"}},
		"directory":    {Options{Pre: dir, Post: post}, []string{"directory"}},
		"missing":      {Options{Pre: pre, Post: dir + "/nothing"}, []string{"no such file"}},
		"no such key":  {Options{Pre: pre, Post: post, Trim: time.Microsecond}, []string{"milliseconds"}},
		"trim too far": {Options{Pre: pre, Post: post, Trim: time.Minute}, []string{"leaves none"}},
		"depth of id":  {Options{Pre: pre, Post: post, Key: Nines, Depth: 80}, []string{"--depth"}},
		"no depth":     {Options{Pre: pre, Post: post, Depth: 20}, []string{"34"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Analyze(context.Background(), c.o)
			if err == nil {
				defer a.Close()
				t.Fatal("it was evaluated")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if exit.Code(err) != exit.Wrong {
				t.Errorf("%v has no exit code 2", err)
			}
		})
	}
	// A requested offset is added and reported.
	a := analyze(t, Options{Pre: pre, Post: apartPost, Offset: -180 * time.Second})
	if a.Counts.Pairs != 2000 || !strings.Contains(strings.Join(a.Notes(), "\n"), "-3m0s was added") {
		t.Errorf("%+v, %v", a.Counts, a.Notes())
	}
}

// The readable part of a damaged capture is used, and the verdict says so.
func TestDamage(t *testing.T) {
	pre, post, _ := writePair(t, synthetic.Config{Packets: 5000, LatencyNs: 9000}, plainPcap, ".pcap")
	raw, err := os.ReadFile(post)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(post, raw[:len(raw)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	a := analyze(t, Options{Pre: pre, Post: post})
	verdict, reasons := a.verdict()
	if a.Counts.Pairs != 2499 && a.Counts.Pairs != 2500 || verdict != result.Noisy || !strings.Contains(reasons[0], "damaged") || a.Summary().Post.Damage == "" {
		t.Errorf("%+v %s %v", a.Counts, verdict, reasons)
	}
}

// A file with packets out of order gives the same result.
func TestOrderOfTheFileDoesNotMatter(t *testing.T) {
	packets := make([]referencePacket, 3000)
	frame := make([]byte, 60)
	dir := t.TempDir()
	write := func(name string, delay int64, order []int) string {
		path := filepath.Join(dir, name)
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := packetfile.NewWriter(out, plainPcap)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			frame[30], frame[31] = byte(i), byte(i>>8)
			if err := w.Write(packetfile.Packet{TimeNs: 1e18 + int64(i)*1000 + delay + delay*int64(i%7), Data: frame, Length: 60}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Flush(), out.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shuffled := rand.New(rand.NewPCG(1, 2)).Perm(len(packets))
	inOrder := make([]int, len(packets))
	for i := range inOrder {
		inOrder[i] = i
	}
	want := analyze(t, Options{Pre: write("a", 0, inOrder), Post: write("b", 50, inOrder)})
	got := analyze(t, Options{Pre: write("c", 0, shuffled), Post: write("d", 50, shuffled)})
	if fmt.Sprint(want.Latency, want.Percentiles, want.PreRate, want.PostRate, want.PreGaps, want.PostGaps) != fmt.Sprint(got.Latency, got.Percentiles, got.PreRate, got.PostRate, got.PreGaps, got.PostGaps) {
		t.Error("the evaluation differs")
	}
	for i, w := range want.Worst {
		g := got.Worst[i]
		if g.LatencyNs != w.LatencyNs || g.PreNs != w.PreNs || string(g.Key) != string(w.Key) {
			t.Fatalf("worst %d: %+v, want %+v", i, g, w)
		}
	}
	if verdict, reasons := got.verdict(); verdict != result.Noisy || !strings.Contains(strings.Join(reasons, " "), "times go back") {
		t.Errorf("%s %v", verdict, reasons)
	}
}

// Times that are years apart or impossible break nothing and do not fill the disk.
func TestStrangeTimes(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, delay int64, times []int64) string {
		path := filepath.Join(dir, name)
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := packetfile.NewWriter(out, packetfile.Layout{Format: packetfile.Pcapng})
		if err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, 60)
		for i, ns := range times {
			frame[30] = byte(i)
			if err := w.Write(packetfile.Packet{TimeNs: ns + delay, Data: frame, Length: 60}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Flush(), out.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	years := []int64{0, 5, 1_700_000_000e9, 1_700_000_000e9 + 50, 4_000_000_000e9}
	a := analyze(t, Options{Pre: write("a", 0, years), Post: write("b", 900, years)})
	if a.Counts.Pairs != 5 || len(a.PreRate) != 3 {
		t.Errorf("%+v, %v", a.Counts, a.PreRate)
	}
	r, err := a.record(context.Background(), &a.Direction)
	if err != nil || len(r.Rates) > 0 || !strings.Contains(strings.Join(r.Details.Notes, " "), "48 days") {
		t.Errorf("%d rates, %v, %v", len(r.Rates), r.Details.Notes, err)
	}
	if _, err := Analyze(context.Background(), Options{Pre: write("c", 0, []int64{1, 1<<62 + 5}), Post: write("d", 1, years)}); err == nil || !strings.Contains(err.Error(), "packet 2") {
		t.Error(err)
	}
}

func TestMoonSniffFiles(t *testing.T) {
	pre, post, truth := writePair(t, synthetic.Config{Packets: 4000, LatencyNs: 5000, LossRatio: 0.01, Payload: synthetic.MoonSniff}, packetfile.Layout{Format: packetfile.MoonSniff}, ".mscap")
	a := analyze(t, Options{Pre: pre, Post: post})
	if a.Options.Key != MoonSniff || a.Counts.Pairs != truth.Received || a.Counts.Lost != truth.Lost {
		t.Errorf("%s %+v, want %+v", a.Options.Key, a.Counts, truth)
	}
}

func TestCoarseTimesAreMentioned(t *testing.T) {
	layout := packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: packetfile.Microseconds}}}
	pre, post, truth := writePair(t, synthetic.Config{Packets: 300, LatencyNs: 9000, Keep: true}, layout, ".pcap")
	a := analyze(t, Options{Pre: pre, Post: post})
	if a.Worst[299].LatencyNs != truth.LatencyNs[0] || !strings.Contains(strings.Join(a.Notes(), "\n"), "in steps of") {
		t.Errorf("%d, want %d; %v", a.Worst[299].LatencyNs, truth.LatencyNs[0], a.Notes())
	}
}

func TestCancelled(t *testing.T) {
	pre, post, _ := writePair(t, synthetic.Config{Packets: 5000, LatencyNs: 9000}, plainPcap, ".pcap")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Analyze(ctx, Options{Pre: pre, Post: post}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a := analyze(t, Options{Pre: pre, Post: post})
	out := t.TempDir()
	if _, err := a.WritePublished(ctx, out, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

package busypoll

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/kernel/proc"
)

func TestStatisticsAreReadAsThePollerWritesThem(t *testing.T) {
	raw := rawStatistics{Magic: statisticsMagic, Size: 6272, PID: 7, Threads: 1, Started: 1000, Updated: 3000}
	copy(raw.Mechanism[:], "io_uring")
	raw.Thread[0] = rawThread{
		TID: 8, CPU: 3, State: 1, Slices: statisticsUnknown, Packets: 5, CPUTime: 11, Waited: 12, Slept: 13,
		Preemptions: 14, BackOffs: 15, BackedOff: 16, Naps: 17,
	}
	var text bytes.Buffer
	if err := binary.Write(&text, binary.NativeEndian, raw); err != nil {
		t.Fatal(err)
	}
	if text.Len() != 6272 {
		t.Errorf("%d bytes; busypoll/poller/statistics.h asserts 6272", text.Len())
	}
	s, err := parseStatistics(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	thread := s.Threads[0]
	if s.Mechanism != "io_uring" || s.PID != 7 || s.Running != 2*time.Microsecond || thread.State != "polling" ||
		thread.TID != 8 || thread.Slices != nil || *thread.Packets != 5 || thread.CPUTime != 11 || thread.Waited != 12 ||
		thread.Slept != 13 || thread.Preemptions != 14 || thread.BackOffs != 15 || thread.BackedOff != 16 || thread.Naps != 17 {
		t.Errorf("read %+v", s)
	}
	for name, wrong := range map[string][]byte{"empty": nil, "cut off": text.Bytes()[:100], "other": bytes.Repeat([]byte{1}, 6272)} {
		if _, err := parseStatistics(wrong); err == nil {
			t.Errorf("%s: taken for statistics", name)
		}
	}
}

func TestAPollerIsReadAsItIsWrittenAndWasBefore(t *testing.T) {
	want := Poller{Identity: proc.Identity{PID: 7, StartTicks: 8}, Statistics: "s", Log: "l"}
	written, err := json.Marshal(want)
	if err != nil || string(written) != `{"pid":7,"start_ticks":8,"statistics":"s","log":"l"}` {
		t.Errorf("written as %s, %v", written, err)
	}
	for _, text := range []string{string(written), `{"PID":7,"StartTicks":8,"statistics":"s","log":"l"}`} {
		var got Poller
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// A thread that has ended, as it does to back off, keeps its slot until the next one
// starts.
func TestAThreadThatBacksOffHasItsPlace(t *testing.T) {
	raw := rawStatistics{Magic: statisticsMagic, Size: 6272, Threads: 1}
	raw.Thread[0] = rawThread{TID: 1 << 30, CPU: 3, State: 3, BackOffs: 1} // above the kernel's largest PID
	var text bytes.Buffer
	if err := binary.Write(&text, binary.NativeEndian, raw); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "statistics")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	threads, err := (&Running{Scheduling: "fifo:5", Poller: &Poller{Statistics: path}}).Threads()
	if err != nil || len(threads) != 1 || threads[0].Name != "" || threads[0].Placement != "fifo:5@3" || threads[0].State != "backed off" {
		t.Errorf("%+v, %v", threads, err)
	}
}

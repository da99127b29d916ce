package busypoll

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"
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
		t.Errorf("%d bytes; poller/statistics.h asserts 6272", text.Len())
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

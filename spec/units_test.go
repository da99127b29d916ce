package spec

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "250us": 250 * time.Microsecond, "1.5ms": 1500 * time.Microsecond,
		"1m30s": 90 * time.Second, "0s": 0, "7ns": 7, "2h": 2 * time.Hour, "3µs": 3 * time.Microsecond,
	} {
		if got, err := ParseDuration(text); err != nil || time.Duration(got) != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "s", "-1s", "+1s", "1 s", "1S", "1.s", ".5s", "1e3s", "10s ", "10000000h", "1d"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"64B": 64, "4kB": 4000, "4KiB": 4096, "512MiB": 512 << 20, "1.5GiB": 3 << 29, "2 GB": 2e9, "1TiB": 1 << 40, "0B": 0,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "64", "4K", "4KB", "4kb", "-1B", "0.5B", "99999999999TiB", "1e3B"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestParseBitRate(t *testing.T) {
	for text, want := range map[string]BitRate{
		"1Gbit/s": 1e9, "80Mbit/s": 80e6, "80Mbps": 80e6, "1.5kbit/s": 1500, "9600bit/s": 9600, "9600bps": 9600, "1 Tbit/s": 1e12,
	} {
		if got, err := ParseBitRate(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, float64(got), err, float64(want))
		}
	}
	for _, text := range []string{"", "1000", "1GB/s", "1gbit/s", "-1bit/s", "1Gbit", "1G"} {
		if got, err := ParseBitRate(text); err == nil {
			t.Errorf("%q was read as %v", text, float64(got))
		}
	}
}

// Each value is written in the shortest form, and read back as the same value.
func TestUnitsAreWritten(t *testing.T) {
	for want, value := range map[string]any{
		"10s": Duration(10 * time.Second), "1.5s": Duration(1500 * time.Millisecond), "250us": Duration(250 * time.Microsecond),
		"1ns": Duration(1), "0s": Duration(0), "1000000001ns": Duration(time.Second + 1), "90s": Duration(90 * time.Second),
		"2.125ms": Duration(2125 * time.Microsecond),
		"512MiB":  Size(512 << 20), "4kB": Size(4000), "4KiB": Size(4096), "1B": Size(1), "0B": Size(0),
		"1Gbit/s": BitRate(1e9), "1.5Mbit/s": BitRate(1.5e6), "1bit/s": BitRate(1), "0.3bit/s": BitRate(0.3),
	} {
		text, err := json.Marshal(value)
		if err != nil || string(text) != `"`+want+`"` {
			t.Errorf("%T: %s, %v; want %q", value, text, err, want)
		}
		switch v := value.(type) {
		case Duration:
			if again, err := ParseDuration(want); again != v {
				t.Errorf("%s: read back as %d, %v", want, again, err)
			}
		case Size:
			if again, err := ParseSize(want); again != v {
				t.Errorf("%s: read back as %d, %v", want, again, err)
			}
		case BitRate:
			if again, err := ParseBitRate(want); again != v {
				t.Errorf("%s: read back as %v, %v", want, again, err)
			}
		}
	}
}

func TestPacketsPerSecond(t *testing.T) {
	for _, c := range []struct {
		traffic Traffic
		want    float64
	}{
		{Traffic{RatePPS: 1000, FrameBytes: 64}, 1000},
		{Traffic{RateBits: 1e6, FrameBytes: 125}, 1000},
		{Traffic{FrameBytes: 64}, 0},
	} {
		if got := c.traffic.PacketsPerSecond(); got != c.want {
			t.Errorf("%+v: %v; want %v", c.traffic, got, c.want)
		}
	}
}

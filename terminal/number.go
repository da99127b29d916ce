package terminal

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// None stands for a figure that the measurement does not support.
const None = "-"

// Significant writes a number with three significant digits, or all integer digits with commas:
// 8.32, 22.1, 120, 12,345.
func Significant(v float64) string {
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case size >= 99.95:
		return Grouped(v)
	case size >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.0995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Grouped writes a number as an integer with commas, 12,345, or a fraction below 10 with two digits.
func Grouped[T int | int64 | uint64 | float64](v T) string {
	if f := float64(v); math.Abs(f) < 10 && f != math.Trunc(f) {
		return Digits(f, 2) // 0.5 packets a second are not 0
	}
	return humanize.Comma(int64(math.RoundToEven(float64(v))))
}

// Digits rounds a number to the given number of significant digits and drops trailing zeros: 1.2,
// 12, 120.
func Digits(v float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64) // cannot fail
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Duration writes nanoseconds with three digits and a suitable unit: 1.2 ms.
func Duration(ns int64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v := float64(ns) / u.ns; v >= 1 {
			return Digits(v, 3) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// Span writes a duration for people: 45 s, 3 min 20 s, 2 h 5 min.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// MiB writes bytes in MiB: 512 MiB.
func MiB(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// GiB writes bytes in GiB with one decimal: 1.9 GiB.
func GiB(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// Bytes formats a size in the largest unit that gives a number above one.
func Bytes(n int64) string {
	const step = 1024
	size, unit := float64(n), "bytes"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size < step {
			break
		}
		size, unit = size/step, larger
	}
	if unit == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}

// Count writes a number of things: 1 trial, 2 trials.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package spec

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span with its unit in the file: "10s", "250us".
type Duration time.Duration

// Size is a number of bytes, written "512MiB" or "4kB".
type Size int64

// BitRate is bits a second, written "1Gbit/s" or "80Mbit/s".
type BitRate float64

// The forms a unit's text can have; the JSON Schema shows them as patterns.
const (
	durationPattern   = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	sizePattern       = `^[0-9]+(\.[0-9]+)? ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$`
	bitRatePattern    = `^[0-9]+(\.[0-9]+)? ?(bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s|bps|kbps|Mbps|Gbps|Tbps)$`
	packetRatePattern = `^[0-9]+(\.[0-9]+)? ?[kMG]$`
)

var (
	durationForm   = regexp.MustCompile(durationPattern)
	sizeForm       = regexp.MustCompile(sizePattern)
	bitRateForm    = regexp.MustCompile(bitRatePattern)
	packetRateForm = regexp.MustCompile(packetRatePattern)
)

// unit is a suffix and what it multiplies by.
type unit struct {
	suffix string
	factor float64
}

// The larger units come first; those of bitRateShortUnits are read, not written.
var (
	durationUnits = []unit{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}
	sizeUnits     = []unit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
	}
	bitRateUnits = []unit{
		{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1},
	}
	bitRateShortUnits = []unit{{"Tbps", 1e12}, {"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}, {"bps", 1}}
	packetRateUnits   = []unit{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}}
)

// ParseDuration reads "10s", "250us", "1.5ms" or "1m30s".
func ParseDuration(text string) (Duration, error) {
	if !durationForm.MatchString(text) {
		return 0, errors.New("not a time span with a unit, such as 10s, 1.5ms or 250us")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("longer than a time span can be (292 years)")
	}
	return Duration(d), nil
}

// ParseSize reads "512MiB", "4kB" or "64B".
func ParseSize(text string) (Size, error) {
	if !sizeForm.MatchString(text) {
		return 0, errors.New("not a size with a unit, such as 512MiB or 4kB")
	}
	v := parseWithUnit(text, sizeUnits)
	if v >= 1<<62 {
		return 0, errors.New("larger than a size can be")
	}
	if v != math.Trunc(v) {
		return 0, errors.New("not a whole number of bytes")
	}
	return Size(v), nil
}

// ParseBitRate reads "1Gbit/s", "80Mbit/s" or "80Mbps".
func ParseBitRate(text string) (BitRate, error) {
	if !bitRateForm.MatchString(text) {
		return 0, errors.New("not a bit rate with a unit, such as 1Gbit/s or 80Mbit/s")
	}
	if strings.HasSuffix(text, "bps") {
		return BitRate(parseWithUnit(text, bitRateShortUnits)), nil
	}
	return BitRate(parseWithUnit(text, bitRateUnits)), nil
}

// ParsePacketRate reads "100k" or "1.5M".
func ParsePacketRate(text string) (float64, error) {
	if !packetRateForm.MatchString(text) {
		return 0, errors.New("not a number of packets a second, such as 10000, 100k or 1.5M")
	}
	return parseWithUnit(text, packetRateUnits), nil
}

// parseWithUnit reads a text that has already matched its form.
func parseWithUnit(text string, units []unit) float64 {
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			if v, err := strconv.ParseFloat(strings.TrimSuffix(number, " "), 64); err == nil {
				return v * u.factor
			}
		}
	}
	return math.NaN()
}

// formatWithUnit takes the first unit in which the value needs at most three
// decimals and is at least 1, and the last one otherwise.
func formatWithUnit(v float64, units []unit) string {
	for _, u := range units {
		scaled := v / u.factor
		text := strconv.FormatFloat(scaled, 'f', -1, 64)
		_, decimals, _ := strings.Cut(text, ".")
		if scaled >= 1 && len(decimals) <= 3 && parseWithUnit(text+u.suffix, units) == v {
			return text + u.suffix
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + units[len(units)-1].suffix
}

// String writes the duration so that ParseDuration reads it back: in the largest
// unit in which it is whole, or below 1000 and needs at most three decimals.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	for _, u := range durationUnits {
		factor := int64(u.factor)
		whole, rest := int64(d)/factor, int64(d)%factor
		switch {
		case rest == 0:
			return strconv.FormatInt(whole, 10) + u.suffix
		case whole > 0 && whole < 1000 && rest*1000%factor == 0:
			return strconv.FormatInt(whole, 10) + strings.TrimRight(fmt.Sprintf(".%03d", rest*1000/factor), "0") + u.suffix
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// String writes the size so that ParseSize reads it back.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if f := int64(u.factor); int64(s) >= f && int64(s)%f == 0 {
			return strconv.FormatInt(int64(s)/f, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// String writes the rate so that ParseBitRate reads it back.
func (r BitRate) String() string { return formatWithUnit(float64(r), bitRateUnits) }

// MarshalText writes the duration with its unit, for YAML and JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalText writes the size with its unit, for YAML and JSON.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText writes the rate with its unit, for YAML and JSON.
func (r BitRate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseDuration.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// UnmarshalText is ParseSize.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}

// UnmarshalText is ParseBitRate.
func (r *BitRate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseBitRate(string(text))
	return err
}

package packetfile

import (
	"fmt"
	"math"
	"math/bits"
)

// Resolution is the number of time stamp units per second.
type Resolution uint64

// The resolutions of pcap files.
const (
	Microseconds Resolution = 1e6
	Nanoseconds  Resolution = 1e9
)

func (r Resolution) String() string {
	switch r {
	case 1:
		return "1 s"
	case 1e3:
		return "1 ms"
	case Microseconds:
		return "1 µs"
	case Nanoseconds:
		return "1 ns"
	}
	return fmt.Sprintf("1/%d s", uint64(r))
}

// binaryResolution marks powers of 2 in pcapng's option if_tsresol; others are powers of 10.
const binaryResolution = 0x80

// resolutionOf parses the option if_tsresol; false if it is finer than any clock.
func resolutionOf(option byte) (Resolution, bool) {
	exponent := option &^ binaryResolution
	if option&binaryResolution != 0 {
		return 1 << (exponent & 63), exponent < 64
	}
	r := Resolution(1)
	for range min(exponent, 19) { // 10^19 is the largest in 64 bits
		r *= 10
	}
	return r, exponent <= 19
}

// option returns the if_tsresol option for a resolution; false if there is none.
func (r Resolution) option() (byte, bool) {
	for exponent := range byte(20) {
		if of, _ := resolutionOf(exponent); of == r {
			return exponent, true
		}
	}
	if r != 0 && r&(r-1) == 0 {
		return binaryResolution | byte(bits.TrailingZeros64(uint64(r))), true
	}
	return 0, false
}

// timing turns an interface's time stamps into nanoseconds.
type timing struct {
	times   uint64 // 1 when dividing
	divided uint64 // 1 when multiplying
	shift   uint8  // for a power of 2; applied first
	binary  bool
	// offsetNs is the interface's time offset, which is added.
	offsetNs int64
}

// maxOffsetSeconds is the most that may be added to time stamps: about 270 years.
const maxOffsetSeconds = math.MaxInt64/1_000_000_000 - 1

func timingOf(r Resolution, offsetSeconds int64) timing {
	t := timing{times: 1, divided: 1, offsetNs: offsetSeconds * 1e9}
	switch {
	case r <= Nanoseconds && Nanoseconds%r == 0:
		t.times = uint64(Nanoseconds / r)
	case r%Nanoseconds == 0:
		t.divided = uint64(r / Nanoseconds)
	default:
		t.binary, t.shift = true, uint8(bits.TrailingZeros64(uint64(r)))
	}
	return t
}

// ns converts a time stamp to nanoseconds; false if it does not fit 64 bits.
func (t *timing) ns(units uint64) (int64, bool) {
	var whole uint64
	if t.binary {
		seconds := units >> t.shift
		high, low := bits.Mul64(units-seconds<<t.shift, 1e9)
		if seconds > maxOffsetSeconds {
			return 0, false
		}
		whole = seconds*1e9 + (high<<(64-t.shift) | low>>t.shift)
	} else {
		high, low := bits.Mul64(units, t.times)
		if high != 0 {
			return 0, false
		}
		whole = low
		if t.divided > 1 {
			whole /= t.divided
		}
	}
	if whole > math.MaxInt64 {
		return 0, false
	}
	sum := int64(whole) + t.offsetNs
	if t.offsetNs > 0 && sum < 0 {
		return 0, false
	}
	return sum, true
}

package packetfile

import "fmt"

// Resolution is how many units of a capture's time stamps make a second.
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

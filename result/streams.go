package result

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// streamsDir is the folder below a trial's with one for each of its streams.
const streamsDir = "streams"

// Stream is one of several streams of a trial, whose figures are their sums. A trial of a single stream lists none: its
// own figures are that stream's.
type Stream struct {
	// Name is that of the folder below the trial's streams/.
	Name             string  `json:"name"`
	OfferedPPS       float64 `json:"offered_pps"`
	TxPackets        uint64  `json:"tx_packets"`
	RxPackets        uint64  `json:"rx_packets"`
	LostPackets      uint64  `json:"lost_packets"`
	UnsentPackets    uint64  `json:"unsent_packets,omitempty"`
	DuplicatePackets uint64  `json:"duplicate_packets"`
	ReorderedPackets uint64  `json:"reordered_packets"`
	// Latency is receive − intended send.
	Latency Percentiles `json:"latency_ns"`
}

// StreamRecord is what one of several streams leaves behind. The writer sets Stream.Latency from the histogram.
type StreamRecord struct {
	Stream  Stream
	Latency *Histogram
}

// checkStreams checks that the streams are the whole trial.
func (r *Record) checkStreams() (wrong []error) {
	if len(r.Streams) == 0 {
		return nil
	}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	names := map[string]bool{}
	var tx, rx uint64
	for _, s := range r.Streams {
		name := s.Stream.Name
		if name != folderName(name) || names[name] {
			say("stream %q needs a name of its own, of letters, digits, dots, dashes and underscores", name)
		}
		names[name] = true
		if s.Stream.TxPackets != s.Stream.RxPackets+s.Stream.LostPackets {
			say("stream %s: %d packets were sent, but %d received and %d lost do not add up to that",
				name, s.Stream.TxPackets, s.Stream.RxPackets, s.Stream.LostPackets)
		}
		if s.Latency == nil {
			say("stream %s: the latency is missing", name)
		} else if s.Latency.Count() != s.Stream.RxPackets {
			say("stream %s: %d packets were received, but the latency of %d was recorded", name, s.Stream.RxPackets, s.Latency.Count())
		}
		tx, rx = tx+s.Stream.TxPackets, rx+s.Stream.RxPackets
	}
	if tx != r.Trial.TxPackets || rx != r.Trial.RxPackets {
		say("%d packets were sent and %d received, but by its streams %d and %d", r.Trial.TxPackets, r.Trial.RxPackets, tx, rx)
	}
	return wrong
}

// completeStreams lists the streams in the trial.
func (r *Record) completeStreams() {
	r.Trial.Streams = nil
	for _, s := range r.Streams {
		s.Stream.Latency = s.Latency.Percentiles()
		r.Trial.Streams = append(r.Trial.Streams, s.Stream)
	}
}

// streamFiles are the files of the streams, below the trial's folder.
func (r *Record) streamFiles(when span) []content {
	var files []content
	for _, s := range r.Streams {
		files = append(files, content{filepath.Join(streamsDir, s.Stream.Name, HlogFile), func(out io.Writer) error {
			return writeHlog(out, Histograms{Latency: s.Latency}, nil, when)
		}})
	}
	return files
}

// StreamLatency reads the latency.hlog of one of the trial's streams. Extremes and mean are the summary's exact ones.
func (f Folder) StreamLatency(name string) (*Histogram, error) {
	of := Folder{dir: filepath.Join(f.dir, streamsDir, name), below: filepath.Join(f.below, f.id, streamsDir), id: name}
	intervals, err := of.Intervals()
	if err != nil {
		return nil, err
	}
	histograms, err := sumLog(intervals)
	if err == nil && histograms.Latency == nil {
		err = errors.New("the latency is missing")
	}
	if err != nil {
		return nil, of.broken(HlogFile, err)
	}
	for _, s := range f.trial.Streams {
		if s.Name == name {
			histograms.Latency.exact(s.Latency)
		}
	}
	return histograms.Latency, nil
}

package analyze

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// PublishedPercentile is one of the published evaluation's percentiles.
type PublishedPercentile struct {
	Text string // as written in the files
	P    float64
	// Inverse is 1/(1−p), the files' third column, as PostgreSQL computes it.
	Inverse string
}

// PublishedPercentiles returns all of them, in order.
var PublishedPercentiles = sync.OnceValue(func() []PublishedPercentile {
	list := make([]PublishedPercentile, len(percentileList))
	for i, text := range percentileList {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err)
		}
		list[i] = PublishedPercentile{text, p, wholeNumeric(1).over(parseNumeric(text).oneMinus())}
	}
	return list
})

// File is one of the published evaluation's files, or a PRE and POST pair of them.
type File string

// The files; docs/analyze.md has their columns.
const (
	HistFile         File = "hist"
	WorstFile        File = "worst"
	PercentilesFile  File = "percentiles"
	TransferRateFile File = "transferrate"
	PacketRateFile   File = "packetrate" // pre and post
	StatsFile        File = "stats"
	JitterFile       File = "jitter" // pre and post
	LatencyTSFile    File = "latency-ts"
)

// Files returns all of them.
func Files() []File {
	return []File{HistFile, WorstFile, PercentilesFile, TransferRateFile, PacketRateFile, StatsFile, JitterFile, LatencyTSFile}
}

// ParseFiles parses a comma-separated list of names.
func ParseFiles(list string) (map[File]bool, error) {
	chosen := make(map[File]bool)
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		known := false
		for _, f := range Files() {
			known = known || string(f) == name
		}
		if !known {
			return nil, fmt.Errorf("unknown file %q; allowed: %v", name, Files())
		}
		chosen[File(name)] = true
	}
	return chosen, nil
}

// publisher writes the files in parallel, and renames them only when all are complete.
type publisher struct {
	dir     string
	capture string // prefix of the names
	trimMs  int64
	without map[File]bool
}

// publishedFile is a file to be written.
type publishedFile struct {
	name  string
	write func(*bufio.Writer) error
}

func (p publisher) files(ctx context.Context, e *Evaluation, all pairs) []publishedFile {
	trim := fmt.Sprintf("trim_ms%d", p.trimMs)
	bucket := fmt.Sprintf("bucket_size%d.%s", bucketNs, trim)
	list := []struct {
		kind   File
		suffix string
		write  func(*bufio.Writer) error
	}{
		{LatencyTSFile, trim + ".latency-ts", func(w *bufio.Writer) error { return writeLatencyTS(ctx, w, all) }},
		{HistFile, bucket + ".hist", func(w *bufio.Writer) error { return writeBuckets(w, "latency_bucket,count\n", e.Latency) }},
		{WorstFile, fmt.Sprintf("%s.num_worst%d.worst", trim, worstRows), e.writeWorst},
		{PercentilesFile, trim + ".percentiles", e.writePercentiles},
		{TransferRateFile, trim + ".transferrate", e.writeTransferRate},
		{PacketRateFile, trim + ".packetratepre", func(w *bufio.Writer) error { return writeSeconds(w, e.PreRate) }},
		{PacketRateFile, trim + ".packetratepost", func(w *bufio.Writer) error { return writeSeconds(w, e.PostRate) }},
		{StatsFile, trim + ".stats", e.writeStats},
		{JitterFile, bucket + ".jitterpre", func(w *bufio.Writer) error { return writeBuckets(w, "bucket,count\n", e.PreGaps) }},
		{JitterFile, bucket + ".jitterpost", func(w *bufio.Writer) error { return writeBuckets(w, "bucket,count\n", e.PostGaps) }},
	}
	var files []publishedFile
	for _, f := range list {
		if !p.without[f.kind] {
			files = append(files, publishedFile{p.capture + "." + f.suffix + ".csv", f.write})
		}
	}
	return files
}

// write writes all files and returns their paths. On failure none of them has changed.
func (p publisher) write(ctx context.Context, e *Evaluation, all pairs) (paths []string, err error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w; write elsewhere with --out", err)
	}
	files := p.files(ctx, e, all)
	temporary := func(name string) string { return filepath.Join(p.dir, "."+name+".tmp") }
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = os.Remove(temporary(f.name)) // unfinished files
			}
		}
	}()
	for _, f := range files {
		if err := writeWhole(temporary(f.name), f.write); err != nil {
			if cause := ctx.Err(); cause != nil {
				return nil, cause
			}
			return nil, fmt.Errorf("%s cannot be written: %w", filepath.Join(p.dir, f.name), err)
		}
	}
	if err := syncAll(files, temporary); err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(p.dir, f.name)
		if err := os.Rename(temporary(f.name), path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// syncAll flushes files to the disk in parallel: most of the time is waiting.
func syncAll(files []publishedFile, path func(string) string) error {
	errs := make([]error, len(files))
	var all sync.WaitGroup
	for i, f := range files {
		all.Go(func() {
			file, err := os.Open(path(f.name))
			if err == nil {
				err = errors.Join(file.Sync(), file.Close())
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// writeWhole writes a whole file.
func writeWhole(path string, write func(*bufio.Writer) error) (err error) {
	// A symbolic link that someone has left under this name is removed, not followed.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(&earlyWriter{file: file}, 1<<18)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// earlyWriter makes the kernel start writing to the disk early, so that little is left to wait for
// at the end.
type earlyWriter struct {
	file      *os.File
	at, begun int64
}

const earlyBytes = 8 << 20

func (e *earlyWriter) Write(p []byte) (int, error) {
	n, err := e.file.Write(p)
	e.at += int64(n)
	if e.at-e.begun >= earlyBytes {
		// Only a hint; file systems may refuse it.
		_ = unix.SyncFileRange(int(e.file.Fd()), e.begun, e.at-e.begun, unix.SYNC_FILE_RANGE_WRITE)
		e.begun = e.at
	}
	return n, err
}

// Writers ignore the errors of a bufio.Writer, since Flush returns them.

func writeBuckets(w *bufio.Writer, head string, buckets []Bucket) error {
	_, _ = w.WriteString(head)
	for _, b := range buckets {
		_, _ = w.Write(fmt.Appendf(w.AvailableBuffer(), "%d,%d\n", b.LowNs, b.Count))
	}
	return nil
}

func writeSeconds(w *bufio.Writer, seconds []Second) error {
	_, _ = w.WriteString("ts,count\n")
	for _, s := range seconds {
		_, _ = w.Write(fmt.Appendf(w.AvailableBuffer(), "%d,%d\n", s.StartNs, s.Count))
	}
	return nil
}

func (e *Evaluation) writeWorst(w *bufio.Writer) error {
	_, _ = w.WriteString("latency,prets,postts,encode\n")
	for _, r := range e.Worst {
		_, _ = w.Write(fmt.Appendf(w.AvailableBuffer(), "%d,%d,%d,%s\n", r.LatencyNs, r.PreNs, r.PostNs, hex.EncodeToString(r.Key)))
	}
	return nil
}

func (e *Evaluation) writePercentiles(w *bufio.Writer) error {
	_, _ = w.WriteString("percentile,value,onefraconeminuspercentile\n")
	for i, p := range PublishedPercentiles() {
		value := "" // NULL
		if e.Percentiles != nil {
			value = strconv.FormatInt(e.Percentiles[i], 10)
		}
		_, _ = w.WriteString(p.Text + "," + value + "," + p.Inverse + "\n")
	}
	return nil
}

func (e *Evaluation) writeTransferRate(w *bufio.Writer) error {
	pre, post := e.PreReceivedTrimmed, e.PostReceivedTrimmed
	_, _ = fmt.Fprintf(w, "pre_received,post_received,transferrate,pre_pkts_per_second,post_pkts_per_second\n%d,%d,%s,%s,%s\n",
		pre, post, quotient(post, pre), quotient(pre, uint64(len(e.PreRate))), quotient(post, uint64(len(e.PostRate))))
	return nil
}

// quotient is empty, as NULL is, for d = 0: a trim can leave no packet.
func quotient(n, d uint64) string {
	if d == 0 {
		return ""
	}
	return wholeNumeric(n).over(wholeNumeric(d))
}

func (e *Evaluation) writeStats(w *bufio.Writer) error {
	_, _ = fmt.Fprintf(w, "pre_received,post_received,pre_received_trimmed,post_received_trimmed\n%d,%d,%d,%d\n",
		e.PreReceived, e.PostReceived, e.PreReceivedTrimmed, e.PostReceivedTrimmed)
	return nil
}

// writeLatencyTS writes a row for each pair: most of the output.
func writeLatencyTS(ctx context.Context, w *bufio.Writer, all pairs) error {
	_, _ = w.WriteString("latency,prets,postts\n")
	var pre, post timeDigits
	return all.each(ctx, func(block []pair) error {
		for len(block) > 0 {
			if w.Available() < longestRow {
				if err := w.Flush(); err != nil {
					return err
				}
			}
			rows := w.AvailableBuffer()
			for len(block) > 0 && cap(rows)-len(rows) >= longestRow {
				p := &block[0]
				rows = appendDigits(rows, p.postNs-p.preNs, ',')
				rows = pre.append(rows, p.preNs, ',')
				rows = post.append(rows, p.postNs, '\n')
				block = block[1:]
			}
			if _, err := w.Write(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// timeDigits writes times. Most begin like the previous one, so the digits before the last eight,
// which change only ten times a second, are cached.
type timeDigits struct {
	from   int64 // the time with its last digits zero; 0: none yet
	head   [headRoom]byte
	length int // of head
}

const (
	tailDigits = 8
	tailNs     = 100_000_000
	// headRoom holds the other 11 digits of an int64, in a size that is copied at once; the excess
	// is overwritten.
	headRoom = 16
)

func (t *timeDigits) append(to []byte, ns int64, behind byte) []byte {
	if t.from == 0 || uint64(ns-t.from) >= tailNs {
		if ns < tailNs {
			return appendDigits(to, ns, behind)
		}
		t.from = ns / tailNs * tailNs
		t.length = len(strconv.AppendInt(t.head[:0], ns/tailNs, 10))
	}
	at := len(to)
	*(*[headRoom]byte)(to[at : at+headRoom]) = t.head
	at += t.length
	to = to[:at+tailDigits+1]
	tail := uint32(ns - t.from)
	upper, lower := tail/10000, tail%10000
	copy(to[at:], digitPair(upper/100))
	copy(to[at+2:], digitPair(upper%100))
	copy(to[at+4:], digitPair(lower/100))
	copy(to[at+6:], digitPair(lower%100))
	to[at+tailDigits] = behind
	return to
}

func digitPair(n uint32) string { return twoDigits[2*n : 2*n+2] }

// longestRow is three numbers of up to 20 characters, each with a separator.
const longestRow = 3 * 21

const twoDigits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// appendDigits appends a number and a separator, like strconv.AppendInt, but fills in the digits
// backwards in place.
func appendDigits(to []byte, n int64, behind byte) []byte {
	u := uint64(n)
	if n < 0 {
		u = -u
		to = append(to, '-')
	}
	length := 1
	for limit := uint64(10); length < 20 && u >= limit; length++ {
		limit *= 10
	}
	start := len(to)
	to = to[:start+length+1]
	at := start + length
	to[at] = behind
	for u >= 100 {
		two := u % 100 * 2
		u /= 100
		at -= 2
		to[at], to[at+1] = twoDigits[two], twoDigits[two+1]
	}
	if u >= 10 {
		to[at-2], to[at-1] = twoDigits[2*u], twoDigits[2*u+1]
	} else {
		to[at-1] = byte('0' + u)
	}
	return to
}

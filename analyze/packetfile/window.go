package packetfile

import "io"

const (
	// bufferBytes is the size of a read: large enough to make system calls and moving the remainder
	// cheap, small enough to stay in a core's own cache.
	bufferBytes = 128 << 10
	// maxBlockBytes limits the buffer: no packet block may be larger. libpcap has the same limit
	// (16 MiB, MAX_BLOCKSIZE in sf-pcapng.c).
	maxBlockBytes = 16 << 20
)

// window is the part of a capture that is in memory.
type window struct {
	src     io.Reader
	data    []byte
	at, end int   // data[at:end] is unused
	base    int64 // of data[0] in the capture
	err     error // permanent error of src; io.EOF at the end
}

func (w *window) reset(src io.Reader) {
	if w.data == nil {
		w.data = make([]byte, bufferBytes)
	}
	*w = window{src: src, data: w.data}
}

// offset is the position of the next unused byte in the capture.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// need makes n bytes available, up to maxBlockBytes, if the capture has them. It invalidates slices
// handed out before.
func (w *window) need(n int) bool {
	if w.end-w.at >= n {
		return true
	}
	into := w.data
	if n > len(into) {
		into = make([]byte, min(maxBlockBytes+bufferBytes, n+bufferBytes))
	}
	w.end = copy(into, w.data[w.at:w.end])
	w.base += int64(w.at)
	w.at, w.data = 0, into
	for w.end < n && w.err == nil {
		var got int
		got, w.err = w.src.Read(w.data[w.end:])
		w.end += got
	}
	return w.end >= n
}

// skip skips n bytes, and returns how many there were.
func (w *window) skip(n int64) int64 {
	skipped := int64(0)
	for {
		now := min(n-skipped, int64(w.end-w.at))
		w.at += int(now)
		skipped += now
		if skipped == n || !w.need(1) {
			return skipped
		}
	}
}

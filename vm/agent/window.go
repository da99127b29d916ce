package agent

import (
	"encoding/binary"
	"errors"
	"sync"
)

// windowBytes may be under way in one direction of one command, sent and not yet taken.
const windowBytes = 256 << 10

var errClosed = errors.New("the session has ended")

// window is what a sender may still send before the receiver has taken some.
type window struct {
	mu     sync.Mutex
	cond   *sync.Cond
	free   int
	closed bool
}

func newWindow() *window {
	w := &window{free: windowBytes}
	w.cond = sync.NewCond(&w.mu)
	return w
}

// reserve waits until something may be sent, and takes at most n bytes of it.
func (w *window) reserve(n int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.free == 0 && !w.closed {
		w.cond.Wait()
	}
	if w.closed {
		return 0, errClosed
	}
	n = min(n, w.free, maxPayload)
	w.free -= n
	return n, nil
}

// release gives back what the receiver has taken.
func (w *window) release(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free += n
	w.cond.Broadcast()
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.cond.Broadcast()
}

// stream writes one direction of one command as frames, within its window.
type stream struct {
	frames  *frameWriter
	window  *window
	kind    kind
	command uint32
}

func (s stream) Write(data []byte) (int, error) {
	sent := 0
	for sent < len(data) {
		n, err := s.window.reserve(len(data) - sent)
		if err != nil {
			return sent, err
		}
		if err := s.frames.write(frame{s.kind, s.command, data[sent : sent+n]}); err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// ack tells the sender of a stream that n bytes of it have been taken.
func ack(frames *frameWriter, command uint32, of kind, n int) error {
	payload := binary.LittleEndian.AppendUint32([]byte{byte(of)}, uint32(n))
	return frames.write(frame{kindAck, command, payload})
}

func readAck(payload []byte) (of kind, n int, ok bool) {
	if len(payload) != 5 {
		return 0, 0, false
	}
	return kind(payload[0]), int(binary.LittleEndian.Uint32(payload[1:])), true
}

// inbox takes what arrives of one stream, in order, and hands it on from a goroutine of
// its own. It never holds more than a window.
type inbox struct {
	mu     sync.Mutex
	cond   *sync.Cond
	data   []byte
	ended  bool
	killed bool
}

func newInbox() *inbox {
	i := &inbox{}
	i.cond = sync.NewCond(&i.mu)
	return i
}

func (i *inbox) put(data []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.data = append(i.data, data...)
	i.cond.Broadcast()
}

// end lets the reader have what is there, and then nothing more.
func (i *inbox) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
	i.cond.Broadcast()
}

// kill drops what is there.
func (i *inbox) kill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.killed = true
	i.cond.Broadcast()
}

// take waits for data; it returns none at the end.
func (i *inbox) take() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.data) == 0 && !i.ended && !i.killed {
		i.cond.Wait()
	}
	if i.killed {
		return nil
	}
	data := i.data
	i.data = nil
	return data
}

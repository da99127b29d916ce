package packetfile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/analyze/packetfile"
)

// file writes a file in the test's own folder.
func file(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drain reads all readable packets.
func drain(t testing.TB, r *packetfile.Reader) []packetfile.Packet {
	t.Helper()
	var all []packetfile.Packet
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Data = slices.Clone(p.Data)
		all = append(all, p)
	}
}

// read opens and reads a file, and closes it at the end of the test.
func read(t testing.TB, path string) (*packetfile.Reader, []packetfile.Packet) {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, drain(t, r)
}

// encode writes packets in a layout.
func encode(t testing.TB, layout packetfile.Layout, packets []packetfile.Packet) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := packetfile.NewWriter(&out, layout)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func compressGzip(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(data)
	_ = z.Close()
	return out.Bytes()
}

func compressZstd(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(data, nil)
}

// random makes packets of up to size bytes, some of them truncated.
func random(seed uint64, count, size, interfaces int) []packetfile.Packet {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]packetfile.Packet, count)
	now := int64(1_700_000_000e9)
	for i := range all {
		now += r.Int64N(1_000_000)
		data := make([]byte, r.IntN(size+1))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		length := uint32(len(data))
		if r.IntN(4) == 0 {
			length += uint32(r.IntN(2000))
		}
		all[i] = packetfile.Packet{TimeNs: now, Data: data, Length: length, Interface: uint32(r.IntN(interfaces))}
	}
	return all
}

// ng builds pcapng blocks by hand, in either byte order.
type ng struct {
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	data []byte
}

func (b *ng) block(kind uint32, body []byte) {
	padded := append(slices.Clone(body), make([]byte, -len(body)&3)...)
	b.data = b.order.AppendUint32(b.data, kind)
	b.data = b.order.AppendUint32(b.data, uint32(len(padded)+12))
	b.data = append(b.data, padded...)
	b.data = b.order.AppendUint32(b.data, uint32(len(padded)+12))
}

func (b *ng) u32(values ...uint32) (out []byte) {
	for _, v := range values {
		out = b.order.AppendUint32(out, v)
	}
	return out
}

func (b *ng) u16(values ...uint16) (out []byte) {
	for _, v := range values {
		out = b.order.AppendUint16(out, v)
	}
	return out
}

func (b *ng) section() {
	b.block(0x0a0d0d0a, slices.Concat(b.u32(0x1a2b3c4d), b.u16(1, 0), b.u32(0xffffffff, 0xffffffff), b.option(4, []byte("a test")), b.u32(0)))
}

func (b *ng) option(code uint16, value []byte) []byte {
	return slices.Concat(b.u16(code, uint16(len(value))), value, make([]byte, -len(value)&3))
}

func (b *ng) anInterface(link uint16, snap uint32, options ...[]byte) {
	b.block(1, slices.Concat(b.u16(link, 0), b.u32(snap), slices.Concat(options...)))
}

func (b *ng) enhanced(where uint32, units uint64, data []byte, length uint32) {
	padding := make([]byte, -len(data)&3)
	comment := b.option(1, []byte("seen"))
	b.block(6, slices.Concat(b.u32(where, uint32(units>>32), uint32(units), uint32(len(data)), length), data, padding, comment, b.u32(0)))
}

// samePackets fails at the first packet that differs.
func samePackets(t testing.TB, what string, want, got []packetfile.Packet) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		if w.TimeNs != g.TimeNs || w.Length != g.Length || w.Interface != g.Interface || !bytes.Equal(w.Data, g.Data) {
			t.Fatalf("%s: packet %d is %.300s, want %.300s", what, i, fmt.Sprint(g), fmt.Sprint(w))
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%s: %d packets, want %d", what, len(got), len(want))
	}
}

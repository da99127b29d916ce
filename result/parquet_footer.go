package result

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The description at a Parquet file's end is a Thrift structure in the compact protocol
// (github.com/apache/parquet-format, github.com/apache/thrift doc/specs/thrift-compact-protocol.md).
// The library makes room for as many elements as a list says it has, before it reads the first:
// a file of 18 bytes can ask for many gigabytes.

const (
	parquetMagic = "PAR1"
	// mostFooterBytes and mostFooterStructs are far above those of the largest recording: 10¹⁰
	// packets have 20,000 row groups of six columns, which take 20 MB.
	mostFooterBytes   = 64 << 20
	mostFooterStructs = 1 << 19
	// deepestFooter is above the five levels of a file's description.
	deepestFooter = 16
)

// The types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
	thriftUUID
)

var errFooter = errors.New("the footer is damaged")

// checkFooter refuses a file whose description says that it has more than it can have.
func checkFooter(content io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(parquetMagic)+len(end)) {
		return fmt.Errorf("%d bytes are not a Parquet file", size)
	}
	if _, err := content.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if string(end[4:]) != parquetMagic {
		return errors.New("it has no Parquet footer: it may be truncated")
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if length > mostFooterBytes || length > size-int64(len(parquetMagic)+len(end)) {
		return errFooter
	}
	footer := make([]byte, length)
	if _, err := content.ReadAt(footer, size-int64(len(end))-length); err != nil {
		return err
	}
	w := footerWalk{rest: footer}
	if !w.structure(0) {
		return errFooter
	}
	return nil
}

// footerWalk goes through a description. Its methods are false where it is damaged.
type footerWalk struct {
	rest    []byte
	structs int
}

func (w *footerWalk) byte() (b byte, ok bool) {
	if len(w.rest) == 0 {
		return 0, false
	}
	b, w.rest = w.rest[0], w.rest[1:]
	return b, true
}

func (w *footerWalk) number() (v uint64, ok bool) {
	v, n := binary.Uvarint(w.rest)
	if n <= 0 {
		return 0, false
	}
	w.rest = w.rest[n:]
	return v, true
}

func (w *footerWalk) skip(bytes uint64) bool {
	if bytes > uint64(len(w.rest)) {
		return false
	}
	w.rest = w.rest[bytes:]
	return true
}

func (w *footerWalk) structure(depth int) bool {
	if w.structs++; w.structs > mostFooterStructs || depth > deepestFooter {
		return false
	}
	for {
		head, ok := w.byte()
		if !ok {
			return false
		}
		kind := head & 0xf
		if kind == thriftStop {
			return true
		}
		if head>>4 == 0 { // the field's number follows
			if _, ok := w.number(); !ok {
				return false
			}
		}
		if kind != thriftTrue && kind != thriftFalse && !w.value(kind, depth) { // those have no bytes
			return false
		}
	}
}

func (w *footerWalk) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte: // in a list, truth takes a byte
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := w.number()
		return ok
	case thriftDouble:
		return w.skip(8)
	case thriftUUID:
		return w.skip(16)
	case thriftBinary:
		length, ok := w.number()
		return ok && w.skip(length)
	case thriftList, thriftSet:
		head, ok := w.byte()
		count := uint64(head >> 4)
		if ok && count == 15 {
			count, ok = w.number()
		}
		return ok && w.values(count, depth, head&0xf)
	case thriftMap:
		count, ok := w.number()
		if !ok || count == 0 {
			return ok
		}
		kinds, ok := w.byte()
		return ok && w.values(count, depth, kinds>>4, kinds&0xf)
	case thriftStruct:
		return w.structure(depth + 1)
	default:
		return false
	}
}

// values goes through the elements of a list or the pairs of a map. Each takes at least one byte.
func (w *footerWalk) values(count uint64, depth int, kinds ...byte) bool {
	if count > uint64(len(w.rest)) || depth > deepestFooter {
		return false
	}
	for range count {
		for _, kind := range kinds {
			if !w.value(kind, depth+1) {
				return false
			}
		}
	}
	return true
}

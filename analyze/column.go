package analyze

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// column is an array that grows without copying, in its own memory mapping: pages never written
// take no memory, and free releases everything at once. In Go's heap, growing would hold two
// copies, and unused data would stay until collected.
type column[T any] struct {
	raw []byte
	all []T // the whole capacity
}

const firstColumnBytes = 1 << 20

// reserve makes room for at least n elements.
func (c *column[T]) reserve(n int) error {
	size := int(unsafe.Sizeof(*new(T)))
	if n <= len(c.all) {
		return nil
	}
	want := max(firstColumnBytes, 2*len(c.raw), n*size)
	want = (want + firstColumnBytes - 1) / firstColumnBytes * firstColumnBytes
	var err error
	if c.raw == nil {
		c.raw, err = unix.Mmap(-1, 0, want, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	} else {
		var moved []byte
		if moved, err = unix.Mremap(c.raw, want, unix.MREMAP_MAYMOVE); err == nil {
			c.raw = moved
		}
	}
	if err != nil {
		return fmt.Errorf("no memory for %d bytes of packets: %w", want, err)
	}
	c.all = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.raw))), len(c.raw)/size)
	return nil
}

// free releases the memory; its slices must not be used after that.
func (c *column[T]) free() {
	if c.raw != nil {
		_ = unix.Munmap(c.raw) // fails only if nothing was mapped
	}
	*c = column[T]{}
}

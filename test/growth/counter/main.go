// Command counter prints how many blocks of nines' code run in some works, for each of two sizes of what they work on.
// It has to be built with -covermode=atomic.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"strconv"
)

// growth is some work: prepare makes what is worked on, of size n, and work works on it. prepare panics if it cannot.
type growth struct {
	name    string
	prepare func(n int) (work func() error)
}

func main() {
	var sizes []int
	for _, word := range os.Args[1:] {
		n, err := strconv.Atoi(word)
		if err != nil {
			fail(err)
		}
		sizes = append(sizes, n)
	}
	for _, g := range growths {
		for _, n := range sizes {
			blocks, err := count(g.prepare(n))
			if err != nil {
				fail(fmt.Errorf("%s of %d: %w", g.name, n, err))
			}
			fmt.Printf("%d ", blocks)
		}
		fmt.Printf("%q\n", g.name)
	}
	fail(os.RemoveAll(made))
}

func fail(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// count is how many blocks of nines' code run in some work.
func count(work func() error) (uint64, error) {
	if err := coverage.ClearCounters(); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	var counters bytes.Buffer
	if err := coverage.WriteCounters(&counters); err != nil {
		return 0, err
	}
	return sum(counters.Bytes())
}

// sum adds up the counters of a file of counters (Go's internal/coverage/defs.go and encodecounter): a header of 32
// bytes, a segment with the number of functions and the lengths of two tables, then for each function how many counters
// it has, its package, its number, and the counters, all as ULEB128.
func sum(data []byte) (blocks uint64, err error) {
	const header, segment, flavour, uleb128 = 32, 16, 24, 2
	if len(data) < header+segment || !bytes.HasPrefix(data, []byte{0, 'c', 'w', 'm'}) || data[flavour] != uleb128 {
		return 0, errors.New("the counters of Go have another form")
	}
	data = data[header:]
	functions, tables := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:])+binary.LittleEndian.Uint32(data[12:])
	data = data[segment+tables:]
	next := func() uint64 {
		value, n := binary.Uvarint(data)
		if n <= 0 {
			err = errors.New("the counters of Go end early")
			return 0
		}
		data = data[n:]
		return value
	}
	for range functions {
		counters := next()
		_, _ = next(), next() // the function's package and number
		for range counters {
			blocks += next()
		}
		if err != nil {
			return 0, err
		}
	}
	return blocks, nil
}

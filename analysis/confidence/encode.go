package confidence

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"nines.dev/nines/result"
)

// encodedForm is the first number of an encoding.
const encodedForm = 1

// Encode writes blocks of packets without weights whose values are nanoseconds of histograms, for who joins later trials to them. It is a DEFLATE
// stream (RFC 1951) of unsigned varints: the form, how many blocks, trials and steps; then for each step, from the
// largest value on, by how much its highest value is below that of the step before, by how much its lowest is below its
// highest, and by how much its packets, and the sum of squares and the largest of blocks and of trials, are more.
func (b *Blocks) Encode() ([]byte, error) {
	numbers := []uint64{encodedForm, uint64(b.blocks), uint64(b.trials), uint64(len(b.steps))}
	before := aboveAll
	for _, s := range b.steps {
		numbers = append(numbers, uint64(before.high-s.high), uint64(s.high-s.low))
		for i, n := range s.counts() {
			numbers = append(numbers, uint64(n-before.counts()[i]))
		}
		before = s
	}
	var plain []byte
	for _, n := range numbers {
		plain = binary.AppendUvarint(plain, n)
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(plain); err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// aboveAll is above all values that a histogram tells apart.
var aboveAll = step{high: 2 * result.HighestNs}

// counts are those of a step that only grow from step to step.
func (s *step) counts() [5]float64 {
	return [...]float64{s.above, s.in.squares, s.in.largest, s.of.squares, s.of.largest}
}

// The most of each that an encoding may have: values that are told apart, blocks, and what a sum of squares can be
// without being rounded.
const (
	mostSteps  = 1 << 15
	mostParts  = 1 << 20
	mostNumber = 1 << 53
	mostBytes  = mostSteps * 7 * binary.MaxVarintLen64
)

var errEncoded = errors.New("the time blocks of a measurement are damaged")

// DecodeBlocks reads what Encode has written. It refuses what no packets can have.
func DecodeBlocks(encoded []byte) (Blocks, error) {
	from := bufio.NewReader(io.LimitReader(flate.NewReader(bytes.NewReader(encoded)), mostBytes))
	var wrong error
	next := func() float64 {
		n, err := binary.ReadUvarint(from)
		if wrong = cmp.Or(wrong, err); n > mostNumber {
			wrong = cmp.Or(wrong, errors.New("a number is too large"))
		}
		return float64(min(n, mostNumber))
	}
	form, blocks, trials, steps := next(), next(), next(), next()
	if wrong == nil && (form != encodedForm || blocks > mostParts || trials > blocks || steps > mostSteps) {
		wrong = fmt.Errorf("form %g, %g blocks of %g trials, %g steps", form, blocks, trials, steps)
	}
	b := Blocks{blocks: int(blocks), trials: int(trials)}
	before := aboveAll
	for i := 0; i < int(steps) && wrong == nil; i++ {
		s := before
		s.high -= next()
		s.low = s.high - next()
		for _, count := range []*float64{&s.above, &s.in.squares, &s.in.largest, &s.of.squares, &s.of.largest} {
			*count += next()
		}
		s.alone = s.above // each weighs 1
		if wrong == nil && (s.low < 0 || s.high >= before.high || s.above <= before.above || s.in.squares > mostNumber || s.of.squares > mostNumber ||
			!s.in.fits(s.above, b.blocks) || trials > 0 && !s.of.fits(s.above, b.trials)) {
			wrong = fmt.Errorf("no packets are spread as those up to %g ns", s.high)
		}
		b.steps = append(b.steps, s)
		before = s
	}
	if _, err := from.ReadByte(); wrong == nil && !errors.Is(err, io.EOF) {
		wrong = cmp.Or(err, errors.New("more follows")) // its end is cut off, or another stream
	}
	if wrong != nil {
		return Blocks{}, fmt.Errorf("%w: %w", errEncoded, wrong)
	}
	b.total = uint64(before.above)
	return b, nil
}

// fits reports whether packets can be spread so over a number of parts. Squares are the least where all parts are
// alike, and the most where few have all.
func (s spread) fits(packets float64, parts int) bool {
	const rounded = 1 - 1e-9
	return s.largest <= packets && s.squares <= s.largest*packets && s.squares >= s.largest*s.largest &&
		s.squares*float64(parts) >= rounded*packets*packets
}

package result

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The compressed V2 encoding of a histogram, byte for byte that of the library (AbstractHistogram of HdrHistogram,
// encodeIntoCompressedByteBuffer). The library makes a compressor for each, which takes a megabyte and longer than the
// rest; a trial has a histogram for each of its time blocks.

// integerConversion is what makes values of integers in an encoding: 1 of histograms that never held fractions.
const integerConversion = 1.0

// wordBytes marks the encodings in base 128, with words of up to this many bytes (the lower half of their cookies).
const wordBytes = 0x10

var compressors = sync.Pool{New: func() any {
	z, err := zlib.NewWriterLevel(nil, zlib.BestCompression)
	if err != nil { // only for a level that there is not
		panic(err)
	}
	return z
}}

// Encode returns the histogram in HdrHistogram's compressed V2 encoding, in base64.
func (p *Packed) Encode() (string, error) {
	payload := p.payload()
	plain := make([]byte, 0, hdrhistogram.ENCODING_HEADER_SIZE+len(payload))
	plain = binary.BigEndian.AppendUint32(plain, uint32(hdrhistogram.V2EncodingCookieBase)|wordBytes)
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(payload)))
	plain = binary.BigEndian.AppendUint32(plain, 0) // no shift of the values
	plain = binary.BigEndian.AppendUint32(plain, SignificantDigits)
	plain = binary.BigEndian.AppendUint64(plain, LowestNs)
	plain = binary.BigEndian.AppendUint64(plain, HighestNs)
	plain = binary.BigEndian.AppendUint64(plain, math.Float64bits(integerConversion))
	plain = append(plain, payload...)

	out := bytes.NewBuffer(make([]byte, 8, 512))
	z := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(out)
	if _, err := z.Write(plain); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	encoded := out.Bytes()
	binary.BigEndian.PutUint32(encoded, uint32(hdrhistogram.V2CompressedEncodingCookieBase)|wordBytes)
	binary.BigEndian.PutUint32(encoded[4:], uint32(len(encoded)-8))
	return base64.StdEncoding.EncodeToString(encoded), nil
}

// payload has the counts from index 0 to the last one in use; a negative number is that many zeros.
func (p *Packed) payload() []byte {
	if p.counts.Populated() == 0 {
		return []byte{0}
	}
	var out []byte
	next := int64(0)
	for low, count := range p.counts.ForEachBucket {
		at := IndexOf(low)
		switch zeros := at - next; zeros {
		case 0:
		case 1:
			out = append(out, 0)
		default:
			out = appendZigZag(out, -zeros)
		}
		out = appendZigZag(out, count)
		next = at + 1
	}
	return out
}

// appendZigZag appends a number in base 128, the sign in its lowest bit. The ninth byte has eight bits.
func appendZigZag(to []byte, n int64) []byte {
	rest := uint64(n)<<1 ^ uint64(n>>63)
	for range 8 {
		if rest < 0x80 {
			break
		}
		to = append(to, byte(rest)|0x80)
		rest >>= 7
	}
	return append(to, byte(rest))
}

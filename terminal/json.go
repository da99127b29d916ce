package terminal

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a writer of JSON that may end on a terminal: it escapes the characters that Plain
// replaces, which are the same text to a program. Each call has to end between two characters, as
// those of package json do.
func JSON(out io.Writer) io.Writer { return jsonWriter{out} }

type jsonWriter struct{ out io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	unsafe := func(r rune) bool { return r >= utf8.RuneSelf-1 && !unicode.IsPrint(r) } // package json escapes those below
	if bytes.IndexFunc(text, unsafe) < 0 {
		return w.out.Write(text)
	}
	var safe bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !unsafe(r):
			safe.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	if _, err := w.out.Write(safe.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

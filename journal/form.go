package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The forms of a journal, by the first line. The lines of plainForm, which earlier versions wrote, have
// neither numbers nor checksums, and nothing says that an operation has ended.
const (
	form      = "nines/journal/v2"
	plainForm = "nines/journal/v1"
)

// Header is the first line of a journal.
type Header struct {
	// Form names the file format.
	Form string `json:"journal"`
	// Lab and Prefix are the lab's.
	Lab    string `json:"lab"`
	Prefix string `json:"prefix"`
	// BootID is the kernel's, as in /proc/sys/kernel/random/boot_id: after a reboot
	// every process, device and control group of the journal is gone. Create fills it in
	// if it is empty.
	BootID string `json:"boot_id"`
	// Token is the prefix of the tokens of all steps.
	Token string `json:"token"`
}

// line is one line after the header: an intent, a done, an undone, or the end of an operation.
type line struct {
	// Number counts the lines of the file; the header is the first.
	Number int `json:"line,omitempty"`
	Intent int `json:"intent,omitempty"`
	*Step
	Done int `json:"done,omitempty"`
	*Learnt
	Undone []int `json:"undone,omitempty"`
	End    bool  `json:"end,omitempty"`
}

// checksum is that of iSCSI (RFC 3720, B.4): it finds every damage of up to 32 bits in a row.
var checksum = crc32.MakeTable(crc32.Castagnoli)

const (
	sealBegin = `,"crc":"`
	sealBytes = len(sealBegin) + 8 + len(`"}`)
)

// seal is a JSON object as a line, with the checksum of all before it as the last key.
func seal(object []byte) []byte {
	text := bytes.TrimSuffix(object, []byte("}"))
	return fmt.Appendf(text, "%s%08x\"}\n", sealBegin, crc32.Checksum(text, checksum))
}

// unseal is the object of a line without its end.
func unseal(text []byte) ([]byte, error) {
	cut := len(text) - sealBytes
	if cut < 0 || !bytes.HasPrefix(text[cut:], []byte(sealBegin)) {
		return nil, errors.New("it has no checksum")
	}
	object := bytes.Clone(text[:cut])
	if !bytes.Equal(seal(append(object, '}')), append(bytes.Clone(text), '\n')) {
		return nil, errors.New("its checksum is of another text")
	}
	return append(object, '}'), nil
}

// decode decodes a JSON object, with no key that this version does not know, and nothing after it.
func decode(text []byte, to any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// decodeHeader decodes the first line, without its end.
func decodeHeader(text []byte) (Header, error) {
	var h Header
	object, broken := unseal(text)
	if broken != nil {
		object = text
	}
	if err := decode(object, &h); err != nil {
		return Header{}, errors.Join(broken, err)
	}
	switch {
	case h.Form == form && broken != nil:
		return Header{}, broken
	case h.Form == form:
		return h, nil
	case h.Form == plainForm && broken != nil:
		return h, nil
	}
	return Header{}, fmt.Errorf("the journal's format is %q; this version of nines reads %q and %q", h.Form, form, plainForm)
}

// decodeLine decodes a line after the header, without its end.
func decodeLine(form string, text []byte) (line, error) {
	l := line{Step: &Step{}, Learnt: &Learnt{}}
	if form != plainForm {
		object, err := unseal(text)
		if err != nil {
			return l, err
		}
		text = object
	}
	if err := decode(text, &l); err != nil {
		return l, err
	}
	return l, l.check(form)
}

// check refuses a line that no version of nines has written.
func (l line) check(form string) error {
	parts := 0
	for _, has := range []bool{l.Intent > 0, l.Done > 0, len(l.Undone) > 0, l.End} {
		if has {
			parts++
		}
	}
	switch {
	case parts != 1:
		return errors.New("it is not one of intent, done, undone and end")
	case (*l.Step != Step{}) != (l.Intent > 0), (l.Intent > 0) != (l.Kind != ""):
		return errors.New("an intent has a step, and no other line has one")
	case *l.Learnt != Learnt{} && l.Done == 0:
		return errors.New("it is not done, and has learnt something")
	case (l.Number > 0) == (form == plainForm), l.End && form == plainForm:
		return fmt.Errorf("it is not of the format %q", form)
	}
	return nil
}

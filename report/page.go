package report

import (
	"bytes"
	_ "embed" // web/ builds the page before this package
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"nines.dev/nines/result"
)

// pageTemplate is the whole page without its data. If the compiler finds no page/index.html, run
// "make build", or "npm ci && npm run build" in web/.
//
//go:embed page/index.html
var pageTemplate []byte

// dataMark marks the place for the data, within a script element of type application/json;
// web/src/index.html has it once.
var dataMark = []byte("{\"nines\":\"data\"}")

// WritePage makes the page of a result folder: one file that works offline and makes no requests.
// Names and texts of the result are data, never markup.
func WritePage(resultDir string, w io.Writer) error {
	r, err := result.Open(resultDir)
	if err != nil {
		return err
	}
	return WritePageOf(r, w, nil)
}

// WritePageOf is WritePage for an open result. Progress receives the trials that were read; it may
// be nil.
func WritePageOf(r *result.Result, w io.Writer, progress func(done, of int)) error {
	if err := newPageData(r, progress).write(w); err != nil {
		return fmt.Errorf("making the page of %s: %w", r.Dir, err)
	}
	return nil
}

func (p pageData) write(w io.Writer) error {
	if bytes.Count(pageTemplate, dataMark) != 1 {
		return errors.New("the page that was built in has no place for the data: build it again with 'npm run build' in web/")
	}
	// Marshal writes <, > and & as \u003c, \u003e, \u0026, so no text in the data can end the
	// script element.
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(pageTemplate, dataMark)
	for _, part := range [][]byte{before, data, after} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

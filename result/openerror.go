package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// OpenError means that a folder is no result, or cannot be read.
type OpenError struct {
	Dir    string
	Reason string
	Remedy string
	Err    error // may be nil
}

func (e *OpenError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Dir, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *OpenError) Unwrap() error { return e.Err }

// ExitCode is 2: the call names a wrong folder; or 3 where only the right to read it is missing.
func (e *OpenError) ExitCode() int {
	if errors.Is(e.Err, fs.ErrPermission) {
		return exit.Lacks
	}
	return exit.Wrong
}

// notAResult says what the folder seems to be instead.
func notAResult(dir string) error {
	e := &OpenError{Dir: dir, Reason: "is not a result folder: it has no " + SummaryFile}
	if _, err := os.Stat(filepath.Join(dir, LatestLink, SummaryFile)); err == nil {
		e.Remedy = "its newest result is " + filepath.Join(dir, LatestLink)
		return e
	}
	if below, _ := filepath.Glob(filepath.Join(dir, "*", SummaryFile)); len(below) > 0 {
		e.Remedy = "its newest result is " + filepath.Dir(below[len(below)-1])
		return e
	}
	e.Remedy = "'nines run FILE' makes results/<name>/<time> and points results/latest at it"
	return e
}

// checkSchema refuses a format that this version does not know.
func checkSchema(dir, file string, raw []byte, want string) error {
	var head struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return brokenJSON(dir, file, raw, err)
	}
	if head.Schema == nil {
		return &OpenError{Dir: dir, Reason: file + " has no \"schema\", so nines did not write it"}
	}
	if *head.Schema == want {
		return nil
	}
	e := &OpenError{Dir: dir, Reason: fmt.Sprintf("%s has the schema %q, and this nines reads %q", file, *head.Schema, want)}
	if kind, _, _ := cutLast(want, "/"); strings.HasPrefix(*head.Schema, kind+"/") {
		e.Remedy = "it was written by another version; read it with that one"
	}
	return e
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// brokenJSON returns an error with the line of a JSON error.
func brokenJSON(dir, file string, raw []byte, err error) error {
	where := file
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	} else if errors.As(err, &kind) {
		offset = kind.Offset
	}
	if offset >= 0 && offset <= int64(len(raw)) {
		where = fmt.Sprintf("%s:%d", file, 1+bytes.Count(raw[:offset], []byte("\n")))
	}
	return &OpenError{Dir: dir, Reason: where + " is damaged", Err: err,
		Remedy: "the files below trials/ may still be complete"}
}

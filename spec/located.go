package spec

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Located is an error about a key of the file, with the key's place.
type Located struct {
	// Place is "file:line:column: key", or the --set that gave the key.
	Place string
	Err   error
	at    place
}

// Error prints the place and the error.
func (l *Located) Error() string { return l.Place + ": " + l.Err.Error() }

// Unwrap returns the error, which has the exit code.
func (l *Located) Unwrap() error { return l.Err }

// locatedAll are several errors, each with its place.
type locatedAll struct {
	err error
	all []error
}

func (l *locatedAll) Error() string {
	lines := []string{fmt.Sprintf("%d errors:", len(l.all))}
	for _, err := range l.all {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func (l *locatedAll) Unwrap() error { return l.err }

// Located adds the place in the file to each error in err that has a method Key: the steps from the
// root to the key it is about. Where the file has no such key, the place is that of the enclosing
// value.
func (r Run) Located(err error) error {
	if err == nil || r.tree == nil {
		return err
	}
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var all []error
		for _, one := range several.Unwrap() {
			all = append(all, r.Located(one))
		}
		sort.SliceStable(all, func(i, j int) bool { return before(all[i], all[j]) })
		return &locatedAll{err, all}
	}
	var about interface{ Key() []string }
	if errors.As(err, &about) {
		return r.located(about.Key(), err)
	}
	return err
}

// before orders errors by their place.
func before(a, b error) bool {
	var x, y *Located
	if !errors.As(a, &x) || !errors.As(b, &y) {
		return false
	}
	return x.at.before(y.at)
}

// located adds the place that the steps lead to.
func (r Run) located(steps []string, err error) *Located {
	found := len(steps)
	for found > 0 && !r.tree.holds(steps[:found]) {
		found--
	}
	at := r.tree.at(steps[:found]).place
	text := at.file
	if at.line > 0 {
		text += fmt.Sprintf(":%d:%d", at.line, at.column)
	}
	if found > 0 {
		text += ": " + quotedPath(steps[:found])
	}
	return &Located{text, err, at}
}

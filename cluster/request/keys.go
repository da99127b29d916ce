package request

import (
	"fmt"
	"slices"
	"strings"
)

// The annotations of a pod that the agent of its node reads.
const (
	IsolationAnnotation = domain + "isolation"
	ReceiveAnnotation   = domain + "rx"
	EvictAnnotation     = domain + "evict"
)

const domain = "nines.dev/"

// Keys are the annotations of nines.
func Keys() []string {
	return []string{Annotation, PortsAnnotation, Placed, IsolationAnnotation, ReceiveAnnotation, EvictAnnotation}
}

// Unknown returns an error for an annotation that looks like one of nines and is none: without it, a pod with a typo would
// be one without a request.
func Unknown(annotations map[string]string) error {
	for key := range annotations {
		if slices.Contains(Keys(), key) {
			continue
		}
		near := nearest(key, Keys())
		switch {
		case near != "":
			return fmt.Errorf("annotation %s is unknown: did you mean %s?", key, near)
		case strings.HasPrefix(key, domain):
			return fmt.Errorf("annotation %s is unknown; allowed: %s", key, strings.Join(Keys(), ", "))
		}
	}
	return nil
}

// typos is how many letters of a word may be wrong, left out or too many.
const typos = 2

// nearest returns the word that another is a typo of; empty if it is none.
func nearest(word string, of []string) string {
	for _, known := range of {
		if distance(strings.ToLower(word), known) <= typos {
			return known
		}
	}
	return ""
}

// distance is the number of letters by which two words differ (Levenshtein 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package labtest

import (
	"regexp"
	"strings"
)

var (
	journalEnd      = regexp.MustCompile(`(?m)^.*"end":true.*\n`)
	journalChecksum = regexp.MustCompile(`,"crc":"[0-9a-f]{8}"`)
	journalNumber   = regexp.MustCompile(`(?m)^\{"line":\d+,`)
)

// PlainJournal is a journal's text in the form of earlier versions, without numbers and checksums: a test may change it,
// and nines reads it.
func PlainJournal(text string) string {
	text = journalEnd.ReplaceAllString(text, "")
	text = journalChecksum.ReplaceAllString(text, "")
	text = journalNumber.ReplaceAllString(text, "{")
	return strings.Replace(text, "nines/journal/v2", "nines/journal/v1", 1)
}

package report

import (
	"unicode/utf8"

	"nines.dev/nines/result"
)

// longestValue is the most characters of a variable's value in a table, such as a list of services that is swept.
const longestValue = 40

// shortValues are the texts of a variable's values where one is too long for a table: what all of them begin and end with
// is left out, from word to word. The page and summary.csv have the whole.
func shortValues(trials []result.Trial, name string) map[string]string {
	var texts []string
	long := false
	seen := map[string]bool{}
	for _, t := range trials {
		text := readable(t.Variables[name])
		long = long || utf8.RuneCountInString(text) > longestValue
		if !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	if !long || len(texts) < 2 {
		return nil
	}
	begin, end := common(texts)
	short := map[string]string{}
	for _, text := range texts {
		short[text] = "…" + text[begin:len(text)-end] + "…"
	}
	return short
}

// common is how many bytes of all texts, in whole words, are the same at the beginning and at the end.
func common(texts []string) (begin, end int) {
	first := texts[0]
	shortest := len(first)
	begin, end = len(first), len(first)
	for _, text := range texts[1:] {
		shortest = min(shortest, len(text))
		same := 0
		for same < min(begin, len(text)) && text[same] == first[same] {
			same++
		}
		begin = same
		same = 0
		for same < min(end, len(text)) && text[len(text)-1-same] == first[len(first)-1-same] {
			same++
		}
		end = same
	}
	for begin > 0 && isWord(first[begin-1]) {
		begin--
	}
	end = min(end, shortest-begin)
	for end > 0 && isWord(first[len(first)-end]) {
		end--
	}
	return begin, end
}

// isWord is true for what belongs to a word or a number.
func isWord(b byte) bool {
	return b == '.' || b == '_' || b >= utf8.RuneSelf || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

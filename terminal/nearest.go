package terminal

import "strings"

// Nearest returns the candidate that a mistyped word most likely means, or "".
func Nearest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	// Half of the letters of a short word may be wrong, a third plus one of a longer word, and
	// never more than three: beyond that it is a different word.
	best, bestDistance := "", min(len(word)/2, len(word)/3+1, 3)+1
	for _, candidate := range candidates {
		if len(candidate) > 64 {
			continue
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// DidYouMean asks whether a mistyped word means the nearest candidate, or returns "".
func DidYouMean(word string, candidates []string) string {
	if candidate := Nearest(word, candidates); candidate != "" {
		return `did you mean "` + candidate + `"?`
	}
	return ""
}

// Choose ends the message about a name that is unknown: with the nearest name that exists, and all of them behind some
// words, such as "its nodes:".
func Choose(word, before string, names []string) string {
	all := before + " " + Listed(names)
	if asked := DidYouMean(word, names); asked != "" {
		return asked + " " + all
	}
	return all
}

// maxListed is how many names an error lists before it says that there are more.
const maxListed = 20

// Listed joins names for an error message, in their order, up to a bound.
func Listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// editDistance counts the insertions, deletions, substitutions and swaps of
// neighbours between two words (the restricted Damerau-Levenshtein distance).
func editDistance(a, b string) int {
	before := make([]int, len(b)+1)
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}

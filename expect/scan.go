package expect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number with its unit, or an operator.
type token struct {
	text string
	at   int // bytes before it
}

// maxLength bounds an expectation: it is a line that people read.
const maxLength = 1000

// symbols are what stands for itself, the longer first.
var symbols = []string{"<=", ">=", "==", "=<", "=>", "!=", "<", ">", "=", "*", "+", "-", "/", "≤", "≥", "(", ")"}

// scan splits an expectation up to its conditions. rest is what follows "where", and at is where that begins; −1 without
// conditions.
func scan(text string) (tokens []token, rest string, restAt int) {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at += size
			continue
		}
		if symbol := symbolAt(text[at:]); symbol != "" {
			tokens = append(tokens, token{symbol, at})
			at += len(symbol)
			continue
		}
		end := at
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if unicode.IsSpace(r) || symbolAt(text[end:]) != "" && !inExponent(text[at:end], r) {
				break
			}
			end += size
		}
		if word := text[at:end]; strings.EqualFold(word, "where") {
			return tokens, text[end:], end
		}
		tokens = append(tokens, token{text[at:end], at})
		at = end
	}
	return tokens, "", -1
}

func symbolAt(text string) string {
	for _, symbol := range symbols {
		if strings.HasPrefix(text, symbol) {
			return symbol
		}
	}
	return ""
}

// inExponent reports whether a sign belongs to the number before it: 1e-6.
func inExponent(before string, sign rune) bool {
	digits := strings.TrimRight(before, "eE")
	return (sign == '-' || sign == '+') && len(digits) == len(before)-1 && digits != "" && strings.Trim(digits, "0123456789._") == ""
}

package index

import (
	"strings"
	"unicode"

	"nines.dev/nines/exit"
)

// reading are the first words of reading statements.
var reading = []string{"SELECT", "WITH", "VALUES", "EXPLAIN", "TABLE"}

// checkStatement refuses anything but one statement that begins like a reading one. It gives a
// clear message and is the first of several protections: the database itself also refuses to write.
func checkStatement(text string) error {
	rest := skipBlank(text)
	if rest == "" {
		return exit.Wrongf(`the statement is missing: write one in quotes, such as "select * from results"`)
	}
	word := rest[:len(rest)-len(strings.TrimLeftFunc(rest, unicode.IsLetter))]
	if word == "" && rest[0] == '(' { // (SELECT …) UNION …
		word = "SELECT"
	}
	known := false
	for _, r := range reading {
		known = known || strings.EqualFold(word, r)
	}
	if !known {
		return exit.Wrongf("only reading statements are run, which begin with %s; this one begins with %q",
			strings.Join(reading, ", "), firstWord(rest))
	}
	end, err := endOfStatement(rest)
	if err != nil {
		return err
	}
	if skipBlank(strings.TrimLeft(rest[end:], ";")) != "" {
		return exit.Wrongf("one statement at a time: another begins at %q", firstWord(skipBlank(strings.TrimLeft(rest[end:], ";"))))
	}
	return nil
}

func firstWord(text string) string {
	word := strings.Fields(text)[0]
	if runes := []rune(word); len(runes) > 20 {
		return string(runes[:20]) + "…"
	}
	return word
}

// skipBlank skips spaces and comments at the start.
func skipBlank(text string) string {
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		length := comment(text)
		if length == 0 {
			return text
		}
		text = text[length:]
	}
}

// comment is the length of the comment at the start of a text. Comments do not nest, as in SQLite;
// a nested one of PostgreSQL ends too early here, and at worst the rest is refused.
func comment(text string) int {
	switch {
	case strings.HasPrefix(text, "--"):
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		if end := strings.Index(text[2:], "*/"); end >= 0 {
			return end + 4
		}
		return len(text)
	}
	return 0
}

// endOfStatement is the position of the first semicolon outside quotes and comments, or the end of
// the text.
func endOfStatement(text string) (int, error) {
	for i := 0; i < len(text); {
		if length := comment(text[i:]); length > 0 {
			i += length
			continue
		}
		switch c := text[i]; c {
		case ';':
			return i, nil
		case '\'', '"', '`':
			// A doubled quote counts as two adjacent quoted texts, which end at the same place.
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return 0, exit.Wrongf("the statement has a %c that does not end", c)
			}
			i += end + 2
		default:
			i++
		}
	}
	return len(text), nil
}

package draft

import "strings"

// The most characters that names in a file may have (spec/cases.go, spec/rules.go).
const (
	mostCaseName    = 64
	mostServiceName = 32
)

// caseName is a text as the name of a case.
func caseName(text string) string {
	name := strings.Map(func(c rune) rune {
		if isAlphanumeric(c) || strings.ContainsRune("._+/-", c) {
			return c
		}
		return ' '
	}, text)
	name = strings.Join(strings.Fields(name), " ")
	name = strings.TrimFunc(name[:min(len(name), mostCaseName)], isMark)
	if name == "" {
		return "one"
	}
	return name
}

// serviceName is a text as the name of a service.
func serviceName(text string) string {
	name := strings.Map(func(c rune) rune {
		if isAlphanumeric(c) {
			return c
		}
		return '-'
	}, strings.ToLower(text))
	name = strings.Trim(name[:min(len(name), mostServiceName)], "-")
	if name == "" {
		return "program"
	}
	return name
}

func isAlphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isMark(c rune) bool { return !isAlphanumeric(c) }

package expect

import (
	"regexp"
	"strconv"
	"strings"
)

// amount is a number with its unit.
type amount struct {
	value float64
	// unit is empty for a plain number; dimension is that of the unit.
	unit      string
	dimension Dimension
}

// units multiply a number. Times become nanoseconds.
var units = []struct {
	suffix    string
	factor    float64
	dimension Dimension
}{
	{"ns", 1, Time}, {"us", 1e3, Time}, {"µs", 1e3, Time}, {"μs", 1e3, Time}, {"ms", 1e6, Time}, {"s", 1e9, Time},
	{"%", 1e-2, Fraction},
	{"k", 1e3, Count}, {"M", 1e6, Count}, {"G", 1e9, Count},
	{"pps", 1, Rate}, {"kpps", 1e3, Rate}, {"Mpps", 1e6, Rate},
}

// numberForm is that of a number, before its unit.
var numberForm = regexp.MustCompile(`^[0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?`)

// isNumber reports whether a word begins as a number does.
func isNumber(word string) bool {
	return word != "" && (word[0] >= '0' && word[0] <= '9' || word[0] == '.')
}

// readAmount reads "100us", "0.1%", "1.05" or "10k".
func readAmount(word string) (amount, bool) {
	end := len(numberForm.FindString(word))
	a := amount{unit: word[end:]}
	value, err := strconv.ParseFloat(strings.ReplaceAll(word[:end], "_", ""), 64)
	if err != nil {
		return a, false
	}
	a.value = value
	if a.unit == "" {
		return a, true
	}
	for _, u := range units {
		if u.suffix == a.unit {
			a.value, a.dimension = value*u.factor, u.dimension
			return a, true
		}
	}
	return a, false
}

func unitNames() []string {
	names := make([]string, 0, len(units))
	for _, u := range units {
		if u.suffix != "μs" {
			names = append(names, u.suffix)
		}
	}
	return names
}

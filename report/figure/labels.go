package figure

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// groupLabels are the labels of groups' curves: one of invalid trials is told as such.
func groupLabels(groups []report.Group) []string {
	var variables []map[string]any
	for _, g := range groups {
		variables = append(variables, g.Variables)
	}
	labels := labelsOf(variables)
	for i, g := range groups {
		if g.Invalid() {
			labels[i] = strings.TrimSpace(labels[i] + invalidLabel)
		}
	}
	return labels
}

// invalidLabel follows the label of what only invalid trials show.
const invalidLabel = " (invalid)"

// labelsOf names curves by their differences: "veth, 10 kpkt/s".
func labelsOf(all []map[string]any) []string {
	differing := differing(all)
	// The result comes first, whatever else differs.
	if i := slices.Index(differing, resultKey); i > 0 {
		differing = slices.Insert(slices.Delete(differing, i, i+1), 0, resultKey)
	}
	labels := make([]string, 0, len(all))
	for _, variables := range all {
		var parts []string
		for _, name := range differing {
			if value, ok := variables[name]; ok {
				parts = append(parts, valueLabel(name, value))
			}
		}
		labels = append(labels, strings.Join(parts, ", "))
	}
	return labels
}

// valueLabel is a self-explanatory value: with its unit, or with its key for a bare number.
func valueLabel(name string, value any) string {
	text := result.FormatVariable(value)
	number, isNumber := value.(float64)
	if n, ok := value.(int); ok {
		number, isNumber = float64(n), true
	}
	short := name[strings.LastIndex(name, ".")+1:]
	switch {
	case isNumber && name == rateKey && number == 0:
		return "maximum rate"
	case isNumber && name == rateKey:
		factor, prefix := scale(number)
		return numeral(number*factor) + " " + prefix + "pkt/s"
	case isNumber && name == sizeKey:
		return numeral(number) + " B"
	case isNumber && name == shareKey:
		return numeral(number*100) + " % of the maximum"
	case name == purposeKey || name == resultKey:
		return text
	}
	switch value.(type) {
	case string:
		return text
	}
	if text == "true" || text == "false" || isNumber || strings.ContainsAny(text, "[{") {
		return fmt.Sprintf("%s %s", strings.ReplaceAll(short, "_", " "), text)
	}
	return text
}

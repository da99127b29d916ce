package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// VariableNames are the swept keys of all trials in sweep order, in which the last key varies
// fastest: the later a key first changes its value, the earlier it comes. Undecided keys are
// sorted.
func VariableNames(trials []Trial) []string {
	names := []string{}
	// Each trial's own variables are looked at once, so that the time does not grow with trials times
	// names. A trial without a name has the empty value there.
	type seen struct {
		first   string
		in      int // trials so far that have it
		changes int // the first trial with another value; -1 for none yet
	}
	found := map[string]*seen{}
	for i, t := range trials {
		for name, value := range t.Variables {
			s, text := found[name], FormatVariable(value)
			if s == nil {
				s = &seen{changes: -1, in: i} // with the empty value until now
				if i == 0 {
					s.first = text
				}
				found[name], names = s, append(names, name)
			}
			if s.changes < 0 && s.in < i && s.first != "" {
				s.changes = s.in // a trial in between lacks it
			}
			if s.changes < 0 && text != s.first {
				s.changes = i
			}
			s.in = i + 1
		}
	}
	changes := make(map[string]int, len(names))
	for name, s := range found {
		switch changes[name] = s.changes; {
		case s.changes >= 0:
		case s.in < len(trials) && s.first != "":
			changes[name] = s.in
		default:
			changes[name] = len(trials)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(changes[b], changes[a]), cmp.Compare(a, b))
	})
	return names
}

// FormatVariable formats a variable's value: 10000, not 1e+04; nil is empty.
func FormatVariable(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32)
	case bool, int, int64, uint64, uint, int32, uint32:
		return fmt.Sprint(v)
	}
	if text, ok := v.(fmt.Stringer); ok {
		return text.String()
	}
	if kind := reflect.ValueOf(v); kind.Kind() == reflect.String { // such as spec.LinkKind
		return kind.String()
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(encoded)
}

// VariableColumns are the swept keys, each with the type of all its values: whole numbers, numbers,
// booleans, or else text. A key keeps its name unless one of the others has it.
func VariableColumns(trials []Trial, others []Column) []Column {
	var found []Column
	for _, name := range VariableNames(trials) {
		kind := variableKind(trials, name)
		called := name
		for slices.ContainsFunc(slices.Concat(others, found), func(c Column) bool { return c.Name == called }) {
			called = "variable_" + called
		}
		found = append(found, Column{Name: called, Kind: kind, Of: func(r *Row) any { return typed(r.Trial.Variables[name], kind) }})
	}
	return found
}

// WithVariables puts the swept keys after the trial's ID.
func WithVariables(trials []Trial, others []Column) []Column {
	after := 1 + slices.IndexFunc(others, func(c Column) bool { return c.Name == "id" })
	return slices.Concat(others[:after], VariableColumns(trials, others), others[after:])
}

// wholeNumbers is the bound below which float64, the type of JSON's numbers, is exact for integers.
const wholeNumbers = 1 << 53

func variableKind(trials []Trial, name string) Kind {
	kind, first := KindText, true
	for _, t := range trials {
		value, there := t.Variables[name]
		if !there || value == nil {
			continue
		}
		this := KindText
		switch value := value.(type) {
		case bool:
			this = KindBoolean
		case float64:
			this = KindReal
			if value == math.Trunc(value) && math.Abs(value) < wholeNumbers {
				this = KindInteger
			}
		}
		numbers := func(k Kind) bool { return k == KindInteger || k == KindReal }
		switch {
		case first:
			kind, first = this, false
		case kind == this:
		case numbers(kind) && numbers(this):
			kind = KindReal
		default:
			return KindText
		}
	}
	return kind
}

func typed(value any, kind Kind) any {
	if value == nil {
		return nil
	}
	switch number, isNumber := value.(float64); {
	case kind == KindText:
		return FormatVariable(value)
	case kind == KindInteger && isNumber:
		return int64(number)
	}
	return value // as variableKind found it
}

package plan

import "encoding/json"

// Same compares values as plan.json shows them: nil and empty are equal.
func Same(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	empty := func(text []byte) bool {
		return string(text) == "null" || string(text) == "[]" || string(text) == "{}"
	}
	return errLeft == nil && errRight == nil &&
		(string(left) == string(right) || empty(left) && empty(right))
}

package spec

import (
	"slices"

	"nines.dev/nines/terminal"
)

// listed joins names for an error message, sorted and bounded.
func listed(names []string) string { return terminal.Listed(slices.Sorted(slices.Values(names))) }

package selection

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// VerifiedFile has a line for each unit that has passed whole: its name and its digest.
const VerifiedFile = "test/verified"

// Verified are the digests of what has passed, by unit.
type Verified map[string]string

var verifiedLine = regexp.MustCompile(`^(\S.*) ([0-9a-f]{64})$`)

// ParseVerified reads the file. A line that is none is an error, and so is a second one of the same unit: what it says
// would be left out of the tests.
func ParseVerified(text []byte) (Verified, error) {
	v := Verified{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := verifiedLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("%s:%d: not a unit and a digest of 64 digits: %q; remove the line", VerifiedFile, number, line)
		}
		if v[parts[1]] != "" {
			return nil, fmt.Errorf("%s:%d: a second line for %s; remove both, and the tests of it run", VerifiedFile, number, parts[1])
		}
		v[parts[1]] = parts[2]
	}
	return v, nil
}

const verifiedHead = `# What has passed in make test-all with exactly the contents that make the digest, so that make test leaves it out.
# make verified writes this file; see CONTRIBUTING.md.
`

// Format is the file, its lines sorted by unit.
func (v Verified) Format() []byte {
	text := verifiedHead
	for _, unit := range slices.Sorted(maps.Keys(v)) {
		text += unit + " " + v[unit] + "\n"
	}
	return []byte(text)
}

// Has reports whether a unit has passed with its contents.
func (v Verified) Has(u Unit) bool { return v[u.Name] == u.Digest }

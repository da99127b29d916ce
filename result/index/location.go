package index

import (
	"net/url"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// DefaultFile is the index below the folder of all results.
const DefaultFile = "index.sqlite"

// Location is where an index is: a SQLite file, or a PostgreSQL database.
type Location struct {
	// File is the SQLite file; empty for PostgreSQL.
	File string
	// Default is true for the default file: if it cannot be written, the index is made in memory.
	Default bool
	url     string // may hold a password: never printed
}

// Locate parses the value of --index: a file, a postgres:// URL, or nothing for the file below the
// folder of all results.
func Locate(said, root string) (Location, error) {
	switch {
	case said == "":
		return Location{File: filepath.Join(root, DefaultFile), Default: true}, nil
	case strings.HasPrefix(said, "postgres://"), strings.HasPrefix(said, "postgresql://"):
		return Location{url: said}, nil
	case strings.Contains(said, "://"):
		return Location{}, exit.Wrongf("the index %s is neither a file nor a postgres:// URL", hideSecrets(said, said))
	}
	return Location{File: said}, nil
}

// String names the index, without its password.
func (l Location) String() string {
	if l.File != "" {
		return l.File
	}
	return hideSecrets(l.url, l.url)
}

// hiddenError is a database error, whose text may have contained the URL.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// shortestPart keeps a part of a password from blanking out parts of words.
const shortestPart = 3

const hidden = "xxxxx" // as in net/url.URL.Redacted

// hideSecrets removes a URL's secrets from a text: anything between the user's colon and the last
// @, and the values of the password parameters, as written and as decoded. It also works on URLs
// that cannot be parsed.
func hideSecrets(address, text string) string {
	for _, secret := range secrets(address) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

func secrets(address string) []string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		return nil
	}
	var all []string
	add := func(secret string) {
		if secret == "" {
			return
		}
		all = append(all, secret)
		for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if decoded, err := decode(secret); err == nil && decoded != secret && decoded != "" {
				all = append(all, decoded)
			}
		}
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if _, password, found := strings.Cut(rest[:at], ":"); found {
			add(password)
			// An unescaped @ makes other parsers take a part of it for the host name.
			for _, part := range strings.Split(password, "@") {
				if len(part) >= shortestPart {
					add(part)
				}
			}
		}
	}
	_, query, _ := strings.Cut(rest, "?")
	for _, parameter := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(parameter, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if name = strings.ToLower(name); strings.Contains(name, "password") || strings.Contains(name, "secret") || strings.Contains(name, "token") {
			add(value)
		}
	}
	return all
}

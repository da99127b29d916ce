package index

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	for said, want := range map[string]Location{
		"":                       {File: filepath.Join("out", DefaultFile), Default: true},
		"my.sqlite":              {File: "my.sqlite"},
		"postgres://a@b/c":       {url: "postgres://a@b/c"},
		"postgresql://a@b:1/c?d": {url: "postgresql://a@b:1/c?d"},
	} {
		if got, err := Locate(said, "out"); err != nil || got != want {
			t.Errorf("%q: %+v (%v), want %+v", said, got, err, want)
		}
	}
	_, err := Locate("mysql://u:hush@h/d", "out")
	if err == nil || !strings.Contains(err.Error(), "postgres://") || strings.Contains(err.Error(), "hush") {
		t.Errorf("another database: %v", err)
	}
}

// Whatever is wrong with a URL, its password is in no error and no name.
func TestSecretsStayHidden(t *testing.T) {
	root := t.TempDir()
	for _, address := range []string{
		"postgres://u:hush-hush@127.0.0.1:1/d?connect_timeout=2",
		"postgres://u:hush-hush@127.0.0.1:notaport/d",
		"postgres://u:hush-hush@[::1/d",
		"postgres://u:hush-hush%@127.0.0.1:1/d",
		"postgres://u:a@hush-hush@127.0.0.1:1/d?connect_timeout=2",
		"postgres://u@127.0.0.1:1/d?password=hush-hush&connect_timeout=2",
		"postgres://127.0.0.1:1/d?user=u&sslpassword=hush-hush&connect_timeout=2",
		"postgres://u:hush%2Dhush@127.0.0.1:1/d?connect_timeout=2",
		"postgres://u:hush-hush@127.0.0.1:1/d?sslmode=nonsense",
		"postgres://u:hush-hush@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/none",
		"postgres://u:hush-hush@ 127.0.0.1/d",
	} {
		location := locate(t, address, root)
		if text := location.String(); strings.Contains(text, "hush-hush") || strings.Contains(text, "hush%2Dhush") {
			t.Errorf("%s is shown as %s", address, text)
		}
		_, err := Open(t.Context(), location, root)
		if err == nil {
			t.Errorf("%s was opened", address)
		} else if text := err.Error(); strings.Contains(text, "hush-hush") || strings.Contains(text, "hush%2Dhush") {
			t.Errorf("%s: %s", address, text)
		}
	}
}

// FuzzSecrets: what net/url parses as the password is hidden in any text that repeats it.
func FuzzSecrets(f *testing.F) {
	f.Add("u:pass@host/db?password=x")
	f.Add(":%41@h")
	f.Add("a:b:c@d@e/?sslpassword=%zz&b")
	f.Fuzz(func(t *testing.T, rest string) {
		address := "postgres://" + rest
		hiddenURL := hideSecrets(address, address)
		parsed, err := url.Parse(address)
		if err != nil || parsed.User == nil {
			return
		}
		password, there := parsed.User.Password()
		// A short password may occur in other text.
		if there && len(password) > 8 && !strings.Contains(hidden+parsed.Host+parsed.Path+parsed.RawQuery+parsed.Fragment+parsed.User.Username(), password) &&
			strings.Contains(hiddenURL, password) {
			t.Errorf("%q has the password %q", hiddenURL, password)
		}
	})
}

// FuzzStatement: an accepted statement has no second one behind it, as SQLite sees it.
func FuzzStatement(f *testing.F) {
	for _, seed := range []string{"select 1", "select 1;", "select ';'; drop table x", "with a as (select '--') select /* ; */ 1", "--\nselect \"a;b\"", "(select 1)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkStatement(text) != nil {
			return
		}
		rest := skipBlank(text)
		end, err := endOfStatement(rest)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Trim(skipBlank(strings.TrimLeft(rest[end:], ";")), " ") != "" {
			t.Errorf("%q passes with more behind %d", text, end)
		}
	})
}

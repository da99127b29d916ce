package test

import (
	"bytes"
	"regexp"
	"testing"
)

// private matches the path of someone's home or workspace. The alternatives in
// brackets keep this file from matching itself.
var private = regexp.MustCompile(`/(?:home|Users|work|workspace)/[A-Za-z0-9]|/(?:root)/[A-Za-z0-9.]|/(?:tmp)/bash_jobs`)

// TestNothingOfOneMachine: no file names a folder that exists on one developer's
// machine only, or lock files a registry that only one network can reach.
func TestNothingOfOneMachine(t *testing.T) {
	for _, name := range files(t) {
		content := read(t, name)
		for number, line := range bytes.Split(content, []byte("\n")) {
			if match := private.Find(line); match != nil {
				t.Errorf("%s:%d names a path of one machine: %s", name, number+1, match)
			}
		}
	}
}

// registry is where a package in an npm lock file is said to come from.
var registry = regexp.MustCompile(`"resolved":\s*"([^"]*)"`)

func TestLockFilesNameNoRegistry(t *testing.T) {
	for _, name := range files(t) {
		if !regexp.MustCompile(`(^|/)package-lock\.json$`).MatchString(name) {
			continue
		}
		for _, match := range registry.FindAllSubmatch(read(t, name), -1) {
			t.Errorf("%s takes a package from %s: make it with npm install --omit-lockfile-registry-resolved", name, match[1])
		}
	}
}

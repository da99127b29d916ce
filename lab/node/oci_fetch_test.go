package node

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWhatADriverSaysIsKept: its last lines, whole, without what draws on a terminal.
func TestWhatADriverSaysIsKept(t *testing.T) {
	for _, test := range []struct{ writes, want []string }{
		{nil, []string{""}},
		{[]string{"one\ntwo\n"}, []string{"two", "one; two"}},
		{[]string{"on", "e\ntw", "o"}, []string{"two", "one; two"}},
		{[]string{"10 %\r20 %\r"}, []string{"20 %", "10 %; 20 %"}},
		{[]string{"\x1b[32m+++\x1b[0m---  4.0 MiB/50.0 MiB  \n\n  \n"}, []string{"+++--- 4.0 MiB/50.0 MiB"}},
		{[]string{"1\n2\n3\n4\n5\n6\n7\n"}, []string{"7", "6; 7", "5; 6; 7", "4; 5; 6; 7", "3; 4; 5; 6; 7", "3; 4; 5; 6; 7"}},
		{[]string{strings.Repeat("x", 5000)}, []string{strings.Repeat("x", 500)}},
	} {
		for i, want := range test.want {
			said := &sayings{}
			for _, text := range test.writes {
				if n, err := said.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("wrote %d of %q: %v", n, text, err)
				}
			}
			if got := said.last(i + 1); got != want {
				t.Errorf("%q: the last %d are %q, want %q", test.writes, i+1, got, want)
			}
		}
	}
}

// TestACallOfADriver returns what is on its standard output, quotes its output in an error, and ends it
// when its context ends.
func TestACallOfADriver(t *testing.T) {
	if out, err := fetchCommand("sh", "-c", "echo words >&2; echo result").output(t.Context()); out != "result" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	_, err := fetchCommand("sh", "-c", "echo why >&2; exit 7").output(t.Context())
	if status := new(exec.ExitError); err == nil || !strings.Contains(err.Error(), "sh: exit status 7: why") || !errors.As(err, &status) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 10)
	begun := time.Now()
	err = fetchCommand("sh", "-c", "echo busy; exec sleep 60").showing(ctx, func(words string) {
		told <- words
		cancel()
	}, "a driver is at work")
	if words := <-told; err == nil || !strings.HasPrefix(words, "a driver is at work: ") || !strings.HasSuffix(words, " s so far; busy") {
		t.Errorf("it says %q: %v", words, err)
	}
	if time.Since(begun) > 50*time.Second {
		t.Error("nobody ended it")
	}
}

// TestTheDigestOfARepository is chosen of those that docker lists.
func TestTheDigestOfARepository(t *testing.T) {
	listed := []string{"other.example/frr@sha256:1", "registry.example:5000/frr@sha256:2", "frr@sha256:3"}
	for name, want := range map[string]string{
		"registry.example:5000/frr:10": "sha256:2", "registry.example:5000/frr": "sha256:2", "frr:10": "sha256:3", "frr": "sha256:3",
		"registry.example:5000/frr@sha256:2": "sha256:2", "docker.io/library/frr:10": "sha256:3",
		"absent.example/frr:10": "sha256:1",
	} {
		if got := repositoryDigest(name, listed, "sha256:0"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := repositoryDigest("built:here", nil, "sha256:0"); got != "sha256:0" {
		t.Errorf("one that was built here: %s", got)
	}
}

func TestWhatIsNoDigest(t *testing.T) {
	for said, fine := range map[string]bool{strings.Repeat("0a", 32): true, "sha256:" + strings.Repeat("0a", 32): true, "": false, "<none>": false, "../x": false} {
		if _, err := keptAs("podman image inspect", "frr:10", "1", said); (err == nil) != fine {
			t.Errorf("%q: %v", said, err)
		}
	}
}

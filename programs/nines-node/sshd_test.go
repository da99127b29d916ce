package main

import (
	"crypto/ed25519"
	"testing"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// TestOnlyKeysOfTheFileLogIn: the file may have comments and several keys.
func TestOnlyKeysOfTheFileLogIn(t *testing.T) {
	made := func() (ssh.PublicKey, string) {
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		key, err := gossh.NewPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return key, string(gossh.MarshalAuthorizedKey(key))
	}
	first, firstText := made()
	second, secondText := made()
	third, thirdText := made()
	text := []byte("# ours\n\n" + firstText + "no key at all\n" + secondText + `command="true" ` + thirdText)
	for name, c := range map[string]struct {
		key  ssh.PublicKey
		want bool
	}{"the first": {first, true}, "the second": {second, true}, "one with options": {third, false}} {
		if got := isAmong(c.key, text); got != c.want {
			t.Errorf("%s may log in: %v", name, got)
		}
	}
	if isAmong(first, nil) || isAmong(first, []byte(secondText)) {
		t.Error("one that is not in the file may log in")
	}
}

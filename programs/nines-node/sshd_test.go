package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gliderlabs/ssh"

	"nines.dev/nines/test/labtest"
)

// TestOnlyKeysOfTheFileLogIn: the file may have comments and several keys.
func TestOnlyKeysOfTheFileLogIn(t *testing.T) {
	_, err := exec.LookPath("ssh-keygen")
	labtest.Require(t, "openssh-client", err == nil)
	folder := t.TempDir()
	made := func(name string) (ssh.PublicKey, string) {
		path := filepath.Join(folder, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "of "+name, "-f", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(path + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return key, string(text)
	}
	first, firstText := made("first")
	second, secondText := made("second")
	third, thirdText := made("third")
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

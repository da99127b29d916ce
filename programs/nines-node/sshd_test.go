package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"

	"nines.dev/nines/lab/node"
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

// loginPlace is a running server, and a key that may log in.
func loginPlace(t *testing.T, outside *pendingLogins) (address string, key gossh.Signer) {
	t.Helper()
	folder := t.TempDir()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if key, err = gossh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		node.SSHHostKey: pem.EncodeToMemory(block), node.SSHAuthorizedKeys: gossh.MarshalAuthorizedKey(key.PublicKey()),
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := loginServer(folder, outside)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return listener.Addr().String(), key
}

// TestPendingLoginsAreLimited: an address may have some connections before its logins, and others have theirs
// meanwhile. A connection that has logged in does not count.
func TestPendingLoginsAreLimited(t *testing.T) {
	outside := newPendingLogins()
	address, key := loginPlace(t, outside)
	from := func(source string) net.Dialer {
		return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	}
	dial := func(source string) net.Conn {
		dialer := from(source)
		conn, err := dialer.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	served := func(conn net.Conn) bool {
		_, err := io.ReadFull(conn, make([]byte, len("SSH-2.0")))
		return err == nil
	}
	login := func() {
		conn, channels, requests, err := gossh.NewClientConn(dial("127.0.0.3"), address, &gossh.ClientConfig{
			User: "root", Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.FixedHostKey(key.PublicKey()),
		})
		if err != nil {
			t.Fatal(err)
		}
		client := gossh.NewClient(conn, channels, requests)
		t.Cleanup(func() { _ = client.Close() })
	}
	for range mostPendingOf {
		if !served(dial("127.0.0.2")) {
			t.Fatal("a connection is refused")
		}
	}
	if served(dial("127.0.0.2")) {
		t.Error("one too many is served")
	}
	for range mostPendingOf + 1 { // each has logged in before the next
		login()
	}
	for i := range mostPending {
		dial("127.0.1." + string(rune('0'+i/mostPendingOf)))
	}
	outside.mu.Lock()
	defer outside.mu.Unlock()
	if outside.all > mostPending || outside.of["127.0.0.3"] != 0 {
		t.Errorf("%d pending logins, %d of them have logged in", outside.all, outside.of["127.0.0.3"])
	}
}

// TestASilentLoginEnds: and another gets its place.
func TestASilentLoginEnds(t *testing.T) {
	outside := newPendingLogins()
	outside.patience = time.Millisecond
	address, _ := loginPlace(t, outside)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.Copy(io.Discard, conn); err != nil { // until the server closes it
		t.Log(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		outside.mu.Lock()
		left := outside.all
		outside.mu.Unlock()
		if left == 0 {
			return
		}
	}
	t.Error("its place is taken still")
}

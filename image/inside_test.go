package image

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestWhatAScriptPutsInPlaceOfFoldersLeadsNowhere: a program of an image replaces /etc by a link out of the
// tree, and the end of the build removes nothing there.
func TestWhatAScriptPutsInPlaceOfFoldersLeadsNowhere(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
	undo, err := b.prepare()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	theirs := []string{filepath.Join(elsewhere, "resolv.conf"), filepath.Join(elsewhere, "null")}
	put(t, theirs...)
	for _, folder := range []string{"etc", "dev"} {
		path := filepath.Join(b.tree, folder)
		if err := os.Rename(path, path+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := undo(); err == nil {
		t.Error("the links are not told")
	}
	stay(t, "the end of a build", theirs...)
}

// TestWhatABuildAddsIsRemoved again, also where a program has removed some of it.
func TestWhatABuildAddsIsRemoved(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
	undo, err := b.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.tree, "dev/zero")); err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{"dev", "etc"} {
		if left, err := os.ReadDir(filepath.Join(b.tree, folder)); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", folder, left, err)
		}
	}
}

// TestALinkOfResolvedLeadsToTheHostsServers, in the tree, while a build runs: systemd-resolved is not there to
// make the file. A link leads nowhere out of the tree.
func TestALinkOfResolvedLeadsToTheHostsServers(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	want, err := os.ReadFile("/etc/resolv.conf")
	labtest.Require(t, "/etc/resolv.conf", err == nil)
	out := filepath.Join(t.TempDir(), "resolv.conf")
	for link, leads := range map[string]string{
		"../run/systemd/resolve/stub-resolv.conf": "run/systemd/resolve/stub-resolv.conf",
		out: out,
	} {
		b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
		if err := os.Mkdir(filepath.Join(b.tree, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(b.tree, "etc/resolv.conf")
		if err := os.Symlink(link, path); err != nil {
			t.Fatal(err)
		}
		undo, err := b.prepare()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(b.tree, leads)); err != nil || string(text) != string(want) {
			t.Errorf("a link to %s leads to %q, %v", link, text, err)
		}
		if err := undo(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(b.tree, leads)); err == nil {
			t.Errorf("%s is left in the image", leads)
		}
		if is, err := os.Readlink(path); err != nil || is != link {
			t.Errorf("the link leads to %q now, %v", is, err)
		}
		if _, err := os.Lstat(out); err == nil {
			t.Errorf("%s was made on the host", out)
		}
	}
}

// TestATreeWithoutServersHasTheHostsMeanwhile: its own file is as before afterwards, unless a program has
// changed it. One with a server stays as it is.
func TestATreeWithoutServersHasTheHostsMeanwhile(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	want, err := os.ReadFile("/etc/resolv.conf")
	labtest.Require(t, "a DNS server in /etc/resolv.conf", err == nil && namesServer(want))
	for _, test := range []struct{ has, meanwhile, put, after string }{
		{"", string(want), "", ""},
		{"# none\nsearch example\n", string(want), "", "# none\nsearch example\n"},
		{"nameserver 192.0.2.1\n", "nameserver 192.0.2.1\n", "", "nameserver 192.0.2.1\n"},
		{"", string(want), "nameserver 192.0.2.2\n", "nameserver 192.0.2.2\n"},
	} {
		b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
		path := filepath.Join(b.tree, "etc/resolv.conf")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(test.has), 0o755)); err != nil {
			t.Fatal(err)
		}
		undo, err := b.prepare()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != test.meanwhile {
			t.Errorf("%q: meanwhile it has %q, %v", test.has, text, err)
		}
		if test.put != "" {
			if err := os.WriteFile(path, []byte(test.put), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := undo(); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(path)
		if text, _ := os.ReadFile(path); err != nil || string(text) != test.after || info.Mode().Perm() != 0o755 {
			t.Errorf("%q: afterwards it has %q, %v", test.has, text, err)
		}
	}
}

// TestABuildTakesTheHostsProxies, of its environment and of its apt.
func TestABuildTakesTheHostsProxies(t *testing.T) {
	got := proxies([]string{"HOME=/root", "http_proxy=http://p:3128", "NO_PROXY=a,b", "PROXY=x", "https_proxy"})
	if want := []string{"http_proxy=http://p:3128", "NO_PROXY=a,b", "https_proxy"}; !slices.Equal(got, want) {
		t.Errorf("the environment has %q", got)
	}
	const dump = `APT "";
Acquire::http::Proxy "http://p:3128";
Acquire::http::Proxy::deb.example "DIRECT";
Acquire::http::Proxy-Auto-Detect "/usr/bin/somewhere";
Acquire::https::Proxy "http://q:3128";
Acquire::Languages "";
`
	const want = `Acquire::http::Proxy "http://p:3128";
Acquire::http::Proxy::deb.example "DIRECT";
Acquire::https::Proxy "http://q:3128";
`
	if got := strings.Join(proxyOfApt.FindAllString(dump, -1), ""); got != want {
		t.Errorf("of apt's configuration:\n%s", got)
	}
}

// TestAPipeIsNoFileOfAnImage, and nobody waits for a writer of it.
func TestAPipeIsNoFileOfAnImage(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tree := building{tree: t.TempDir()}
	for what, read := range map[string]func() error{
		"a file or a script": func() error { _, err := digestOf(pipe); return err },
		"a root file system": func() error { _, err := openRootfs(pipe); return err },
		"a copy":             func() error { return tree.copyFile(pipe, "/etc/motd") },
	} {
		if err := read(); !errors.As(err, new(*notFileError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

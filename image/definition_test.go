package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// definition is a definition file of distrobuilder that begins with a root file system as a tar file.
const definition = `image:
  distribution: nines
  release: one
source:
  downloader: rootfs-http
  url: file://%s
packages:
  manager: apt
files:
- path: /etc/made
  generator: dump
  content: by distrobuilder
`

// TestAnImageOfADefinitionOfDistrobuilder: it has what distrobuilder makes, and then what the recipe
// adds, and is built once.
func TestAnImageOfADefinitionOfDistrobuilder(t *testing.T) {
	labtest.Root(t)
	labtest.Built(t, distrobuilder) // a package of Debian 13, but not of 12
	s, dir := newStore(t), t.TempDir()
	begins, motd, file := filepath.Join(dir, "root.tar"), filepath.Join(dir, "motd"), filepath.Join(dir, "made.yaml")
	for path, text := range map[string][]byte{
		begins: layerOf(t, lower...), motd: []byte("hello\n"), file: fmt.Appendf(nil, definition, begins),
	} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := spec.ImageRecipe{From: "distrobuilder:" + file, Files: []spec.ImageFile{{Source: motd, Target: "/etc/motd"}}}
	entry, err := s.Build(context.Background(), "made", r, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Build(context.Background(), "made", r, true)
	if err != nil || again.Digest != entry.Digest {
		t.Errorf("the first build is %s, the second %s: %v", entry.Digest, again.Digest, err)
	}
	u, err := s.Unpack(context.Background(), "made")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"etc/made": "by distrobuilder", "etc/motd": "hello"} {
		if text, err := os.ReadFile(filepath.Join(u.Root, path)); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s is %q: %v", path, text, err)
		}
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, definition+"  mode: 0600\n", begins), 0o644); err != nil {
		t.Fatal(err)
	}
	if next, err := s.Build(context.Background(), "made", r, false); err != nil || next.Recipe == entry.Recipe {
		t.Errorf("another definition is the same recipe: %v", err)
	}
}

// TestADefinitionForgetsThisHost: debootstrap writes the host's name into what it makes.
func TestADefinitionForgetsThisHost(t *testing.T) {
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{self: false, self + "x": true} {
		tree := t.TempDir()
		path := filepath.Join(tree, "etc/hostname")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name+"\n"), 0o644), forgetHostName(tree)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := forgetHostName(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestADefinitionNeedsDistrobuilder(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	file := filepath.Join(t.TempDir(), "made.yaml")
	if err := CheckDefinition(file); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), file) {
		t.Errorf("without the file: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := CheckDefinition(file); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "apt-get install distrobuilder") {
		t.Errorf("without the program: %v", err)
	}
}

package image

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestLXCMakesAContainerOfOurFiles: lxc-create's template "local" takes what is exported for LXC.
func TestLXCMakesAContainerOfOurFiles(t *testing.T) {
	labtest.Root(t)
	for _, program := range []string{"lxc-create", "xz"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	s, dir := newStore(t), t.TempDir()
	imported(t, s, "web", imageOf(t, v1.Config{}, layerOf(t, append(lower[:3:3], entry{"etc/hostname", "LXC_NAME\n"})...)))
	files, containers := filepath.Join(dir, "files"), filepath.Join(dir, "containers")
	if err := s.Export(context.Background(), "web", FormatLXC, files); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(containers, 0o755); err != nil {
		t.Fatal(err)
	}
	// LXC keeps a lock for each container, below the path of its folder (lxclock.c).
	t.Cleanup(func() {
		lock := filepath.Join("/run/lxc/lock", containers)
		_ = os.Remove(filepath.Join(lock, ".made"))
		for ; lock != "/run/lxc/lock" && os.Remove(lock) == nil; lock = filepath.Dir(lock) {
		}
	})
	out, err := exec.Command("lxc-create", "-P", containers, "-n", "made", "-t", "local", "--",
		"--metadata", filepath.Join(files, "meta.tar.xz"), "--fstree", filepath.Join(files, "rootfs.tar.xz")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// The template puts the container's name in its place.
	if text, err := os.ReadFile(filepath.Join(containers, "made/rootfs/etc/hostname")); string(text) != "made\n" {
		t.Errorf("the container's name is %q: %v", text, err)
	}
}

// TestADebianIsTheSameTwice: two builds of the same packages give the same digest.
func TestADebianIsTheSameTwice(t *testing.T) {
	labtest.LongForm(t)
	labtest.Root(t)
	_, err := exec.LookPath("mmdebstrap")
	labtest.Require(t, "mmdebstrap", err == nil)
	r := spec.ImageRecipe{From: "bookworm", Packages: []string{"netcat-openbsd"}, SSH: true}
	s := newStore(t)
	first, err := s.Build(context.Background(), "debian", r, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Build(context.Background(), "debian", r, true)
	if err != nil || again.Digest != first.Digest {
		t.Errorf("the first build is %s, the second %s: %v", first.Digest, again.Digest, err)
	}
	u, err := s.Unpack(context.Background(), "debian")
	if err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{"bin/nc.openbsd": true, "usr/sbin/sshd": true, "etc/ssh/ssh_host_ed25519_key": false, "var/log/dpkg.log": false} {
		if _, err := os.Lstat(filepath.Join(u.Root, path)); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

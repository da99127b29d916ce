package image

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

const incusDescription = "architecture: x86_64\ncreation_date: 1424284563\n"

// unified is lower as a unified image, with a hard link.
func unified(t *testing.T) []byte {
	entries := []entry{{"metadata.yaml", incusDescription}, {"templates/hostname.tpl", "{{ container.name }}"}, {"rootfs/", ""}}
	for _, e := range lower {
		entries = append(entries, entry{"./rootfs/" + e.name, e.content})
	}
	return layerOf(t, append(entries, entry{"rootfs/again", "=>rootfs/etc/passwd"})...)
}

func filesOf(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestImagesOfIncus: split and unified ones are the same, imported or used as they are, and a path alone
// tells their form.
func TestImagesOfIncus(t *testing.T) {
	labtest.Root(t)
	for _, program := range []string{"tar2sqfs", "sqfs2tar"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, "squashfs-tools-ng", err == nil)
	}
	metadata, root := layerOf(t, entry{"./metadata.yaml", incusDescription}), layerOf(t, append(slices.Clone(lower), entry{"again", "=>etc/passwd"})...)
	squashfs := filepath.Join(t.TempDir(), "rootfs.squashfs")
	cmd := exec.Command("tar2sqfs", "--quiet", squashfs)
	cmd.Stdin = bytes.NewReader(root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packed, err := os.ReadFile(squashfs)
	if err != nil {
		t.Fatal(err)
	}
	whole := treeOf(t, root)
	for path, form := range map[string]spec.ImageForm{
		filesOf(t, map[string][]byte{"incus.tar.xz": metadata, "rootfs.tar.xz": root}):             spec.ImageIncus,
		filesOf(t, map[string][]byte{"lxd.tar.xz": metadata, "rootfs.squashfs": packed}):           spec.ImageIncus,
		filesOf(t, map[string][]byte{"incus.tar.xz": unified(t)}):                                  spec.ImageIncus,
		filepath.Join(filesOf(t, map[string][]byte{"debian-12.tar": unified(t)}), "debian-12.tar"): spec.ImageIncus,
		squashfs: spec.ImageRootfs,
	} {
		s := newStore(t)
		entry, err := s.Import(context.Background(), spec.ImageName{Form: spec.ImagePath, Path: path}, "it", false)
		if err != nil || !strings.HasPrefix(entry.From, string(form)+":") {
			t.Errorf("%s: %+v, %v", path, entry, err)
			continue
		}
		for _, name := range []string{"it", path, string(form) + ":" + path} {
			u, err := s.Unpack(context.Background(), name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if got := tree(t, u.Root); !slices.Equal(got, whole) {
				t.Errorf("%s has %q, want %q", name, got, whole)
			}
		}
	}
}

// treeOf lists the files of a layer.
func treeOf(t *testing.T, layer []byte) []string {
	t.Helper()
	root := t.TempDir()
	if err := applyLayer(root, bytes.NewReader(layer), growthOf(0)); err != nil {
		t.Fatal(err)
	}
	return tree(t, root)
}

func TestWhatIsNoImageOfIncus(t *testing.T) {
	metadata := layerOf(t, entry{"metadata.yaml", incusDescription})
	for want, files := range map[string]map[string][]byte{
		"neither incus.tar.xz nor lxd.tar.xz":  {"rootfs.tar": metadata},
		"has no file metadata.yaml":            {"incus.tar": layerOf(t, lower...)},
		"it is for s390x":                      {"incus.tar": layerOf(t, entry{"metadata.yaml", "architecture: s390x\n"})},
		"make the image without --vm":          {"incus.tar": metadata, "disk.qcow2": nil},
		"it has no folder rootfs":              {"incus.tar": metadata},
		"a hard link to a file outside rootfs": {"incus.tar": layerOf(t, entry{"metadata.yaml", incusDescription}, entry{"rootfs/a", "=>metadata.yaml"})},
	} {
		s := newStore(t)
		_, err := s.Import(context.Background(), spec.ImageName{Form: spec.ImageIncus, Path: filesOf(t, files)}, "it", false)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

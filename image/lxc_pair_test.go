package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// forLXC is what a definition file of distrobuilder says of images for LXC. The generator of
// /etc/hostname makes that file one of the templates.
const forLXC = `- path: /etc/hostname
  generator: hostname
targets:
  lxc:
    create_message: a container of nines' tests
    config:
    - type: all
      content: lxc.arch = {{ image.architecture_personality }}
    - type: user
      content: lxc.include = LXC_TEMPLATE_CONFIG/userns.conf
`

// TestWhatDistrobuilderMakesForLXC is imported, and is a node's image without an import, too.
func TestWhatDistrobuilderMakesForLXC(t *testing.T) {
	labtest.Root(t)
	labtest.Built(t, distrobuilder) // a package of Debian 13, but not of 12
	s, dir := newStore(t), t.TempDir()
	begins, file, made := filepath.Join(dir, "root.tar"), filepath.Join(dir, "made.yaml"), filepath.Join(dir, "made")
	for path, text := range map[string][]byte{
		begins: layerOf(t, append(lower[:3:3], entry{"etc/hostname", "nobody\n"})...), file: fmt.Appendf(nil, definition+forLXC, begins),
	} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
		distrobuilder, "build-lxc", file, made, "--cache-dir", filepath.Join(dir, "cache"), "--sources-dir", filepath.Join(dir, "sources"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	from := spec.ImageName{Form: spec.ImageLXC, Path: made}
	if _, err := s.Import(context.Background(), from, "imported", false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"imported", from.String()} {
		u, err := s.Unpack(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{"etc/made": "by distrobuilder", "etc/hostname": "made"} {
			if text, err := os.ReadFile(filepath.Join(u.Root, path)); strings.TrimSpace(string(text)) != want {
				t.Errorf("%s: %s is %q: %v", name, path, text, err)
			}
		}
	}
}

// pairOf writes an image of LXC: metadata of such files, and a root file system with the container's name
// in etc/hostname.
func pairOf(t *testing.T, metadata map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for name, content := range metadata {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	root := layerOf(t, append(lower[:3:3], entry{"etc/hostname", "LXC_NAME\n"}, entry{"etc/motd", "LXC_NAME\n"})...)
	for name, content := range map[string][]byte{lxcMetadataFile: text.Bytes(), lxcRootFile: root} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTheMetadataOfAnImageOfLXC says which files get a name; of several of a kind, that counts which
// lxc-create takes.
func TestTheMetadataOfAnImageOfLXC(t *testing.T) {
	const hostname = "etc/hostname"
	for _, test := range []struct {
		metadata map[string]string
		named    []string
	}{
		{map[string]string{"./config": "lxc.arch = linux64\n"}, nil},
		{map[string]string{"config": "", "templates": "/etc/hostname\n"}, []string{hostname}},
		{map[string]string{"config": "", "templates": "etc/hostname\n", "templates.4": ""}, []string{hostname}},
		{map[string]string{"config": "", "templates": "etc/hostname\n", "templates.5": "etc/motd"}, []string{"etc/motd"}},
		{map[string]string{"config": "", "templates": "etc/hostname\n", "templates-user": "etc/motd"}, []string{hostname}},
		{map[string]string{"config": "", "templates": "etc/hostname\n", "templates-system": ""}, nil},
		{map[string]string{"config": "", "templates": "etc/absent\n"}, nil},
	} {
		dir := pairOf(t, test.metadata)
		pair, err := openLXC(dir)
		if err != nil {
			t.Fatal(err)
		}
		layer := filepath.Join(t.TempDir(), "layer.tar")
		if err := os.WriteFile(layer, pair.written, 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := filesIn(layer, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != len(test.named) || len(files) == 0 && pair.written != nil {
			t.Errorf("%v: %d files are written anew", test.metadata, len(files))
		}
		for _, name := range test.named {
			if files[name].text != filepath.Base(dir)+"\n" {
				t.Errorf("%v: %s is %q", test.metadata, name, files[name].text)
			}
		}
	}
}

func TestWhatIsNoImageOfLXC(t *testing.T) {
	without := t.TempDir()
	for want, dir := range map[string]string{
		"image lxc:" + without + " does not exist": without,
		"has no file config":                       pairOf(t, map[string]string{"templates": ""}),
		"it is for s390x":                          pairOf(t, map[string]string{"config": "lxc.include = x\nlxc.arch = s390x\n"}),
		"but may have at most":                     pairOf(t, map[string]string{"config": strings.Repeat("#", mostText+1)}),
	} {
		if _, err := open(spec.ImageName{Form: spec.ImageLXC, Path: dir}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzTheMetadataOfAnImageOfLXC: any input is read or refused, and only files of the root file system
// are rewritten.
func FuzzTheMetadataOfAnImageOfLXC(f *testing.F) {
	var good bytes.Buffer
	archive := tar.NewWriter(&good)
	for name, text := range map[string]string{"config": "lxc.arch = linux64\n", "templates": "/etc/hostname\n../x\n"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
			f.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			f.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add(gzipMagic)
	dir := f.TempDir()
	root := layerOf(f, append(lower[:3:3], entry{"etc/hostname", "LXC_NAME\n"})...)
	if err := os.WriteFile(filepath.Join(dir, lxcRootFile), root, 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, metadata []byte) {
		if bytes.HasPrefix(metadata, xzMagic) {
			return // another program reads it
		}
		if err := os.WriteFile(filepath.Join(dir, lxcMetadataFile), metadata, 0o600); err != nil {
			t.Fatal(err)
		}
		pair, err := openLXC(dir)
		if err != nil || len(pair.written) == 0 {
			return
		}
		layer := tar.NewReader(bytes.NewReader(pair.written))
		if header, err := layer.Next(); err != nil || header.Name != "etc/hostname" {
			t.Errorf("it has %v, %v", header, err)
		}
	})
}

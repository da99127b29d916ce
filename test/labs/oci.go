package labs

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"nines.dev/nines/test/labtest"
)

// OCIDrivers are the drivers that run on hosts with control groups of any version; crun is tested in
// the laboratory (TestLabOCIDrivers).
var OCIDrivers = []string{"runc", "podman", "containerd", "docker"}

// OCIManagers are the drivers that are managers of containers.
var OCIManagers = []string{"podman", "containerd", "docker"}

// NeedOCIDriver skips a test if the host has no such driver, or nothing to make an image of.
func NeedOCIDriver(t testing.TB, name string) {
	t.Helper()
	program := name
	if name == "docker" {
		program = "dockerd"
	}
	labtest.Require(t, name, labtest.Installed(program))
	if name == "docker" {
		labtest.Require(t, "docker's command line", labtest.Installed("docker"))
	}
	labtest.Require(t, "busybox-static", labtest.Installed("busybox"))
}

// OCIImage writes an image with busybox as a layout, and returns the text that names it. What
// images are unpacked is the test's own.
func OCIImage(t testing.TB, config v1.Config) string {
	t.Helper()
	t.Setenv("NINES_CACHE_DIR", t.TempDir())
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	add := func(kind byte, name, link string, mode int64, content []byte) {
		t.Helper()
		err := archive.WriteHeader(&tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: mode, Size: int64(len(content))})
		if err == nil {
			_, err = archive.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"bin", "etc", "root", "srv"} {
		add(tar.TypeDir, folder, "", 0o755, nil)
	}
	add(tar.TypeDir, "tmp", "", 0o1777, nil)
	add(tar.TypeReg, "bin/busybox", "", 0o755, program)
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			add(tar.TypeSymlink, "bin/"+applet, "busybox", 0o777, nil)
		}
	}
	add(tar.TypeReg, "etc/passwd", "", 0o644, []byte("root:x:0:0::/root:/bin/sh\nweb:x:33:44::/srv:/bin/sh\n"))
	add(tar.TypeReg, "etc/group", "", 0o644, []byte("root:x:0:\nweb:x:44:\n"))
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(image); err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}

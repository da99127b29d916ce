package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// refusedImage unpacks an image that must be refused, with no trace.
func refusedImage(t testing.TB, from, want string) {
	t.Helper()
	s := newStore(t)
	if _, err := s.Unpack(context.Background(), from); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), want) {
		t.Errorf("%.40s: %v, want %q", from, err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, unpackedFolder, "*")); len(left) > 0 {
		t.Errorf("%.40s: left behind: %q", from, left)
	}
}

func fileOf(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestACompressedBombIsRefused before it fills the disk: a file of 2 GiB in an archive of some hundred kilobytes.
func TestACompressedBombIsRefused(t *testing.T) {
	const megabytes = 2048
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "zeros", Mode: 0o600, Typeflag: tar.TypeReg, Size: megabytes << 20}); err != nil {
		t.Fatal(err)
	}
	// Frames one after the other are one file, RFC 8878, section 3.
	frame := encoder.EncodeAll(make([]byte, 1<<20), nil)
	text := append(encoder.EncodeAll(head.Bytes(), nil), bytes.Repeat(frame, megabytes)...)
	path := fileOf(t, "bomb.tar.zst", append(text, encoder.EncodeAll(make([]byte, 1024), nil)...))
	refusedImage(t, "rootfs:"+path, "grows to more than 1024 MiB")

	plain, err := openTar(path) // as an import reads it
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if n, err := io.Copy(io.Discard, plain); exit.Code(err) != exit.Wrong || n > freeGrowth {
		t.Errorf("%d bytes were read of it: %v", n, err)
	}
}

// sparse is an archive with a file "holes" of this many bytes, of which the first are "some" and the others a
// hole, in a form of GNU tar.
func sparse(t *testing.T, form string, bytes int64) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "holes"), []byte("some"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "holes"), bytes); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("tar", "--sparse", "--format="+form, "-C", dir, "-cf", "-", "holes").Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 1<<20 {
		t.Fatalf("the archive has %d bytes: the file system has no holes", len(text))
	}
	return text
}

// TestASparseBombIsRefused: an archive of some kilobytes has a file of gigabytes also without compression.
func TestASparseBombIsRefused(t *testing.T) {
	for _, form := range []string{"posix", "gnu"} {
		text := sparse(t, form, freeGrowth+1<<20)
		refusedImage(t, "rootfs:"+fileOf(t, "rootfs.tar", text), "grows to more than 1024 MiB")
		refusedImage(t, "oci:"+layoutWith(t, map[string]v1.Image{"": imageOf(t, v1.Config{}, text)}), "grows to more than 1024 MiB")
	}
}

// TestASparseFileIsWhole in each form that tar writes.
func TestASparseFileIsWhole(t *testing.T) {
	const size = 2 << 20
	for _, form := range []string{"posix", "gnu"} {
		root := t.TempDir()
		if err := applyLayer(root, bytes.NewReader(sparse(t, form, size)), &growth{most: size * 2}); err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, "holes"))
		if err != nil || len(text) != size || strings.TrimRight(string(text), "\x00") != "some" {
			t.Errorf("%s: %d bytes, %v", form, len(text), err)
		}
	}
}

// TestWhatGrowsIsCounted over all layers: content, and headers of files without any.
func TestWhatGrowsIsCounted(t *testing.T) {
	one := layerOf(t, entry{"a", strings.Repeat("x", 5000)})
	g := &growth{most: int64(len(one)) * 3 / 2}
	if err := applyLayer(t.TempDir(), bytes.NewReader(one), g); err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := applyLayer(t.TempDir(), bytes.NewReader(one), g); exit.Code(err) != exit.Wrong {
		t.Errorf("the second: %v", err)
	}
	var names []entry
	for i := range 26 {
		names = append(names, entry{string(rune('a' + i)), ""})
	}
	if err := applyLayer(t.TempDir(), bytes.NewReader(layerOf(t, names...)), &growth{most: 25 * 512}); exit.Code(err) != exit.Wrong {
		t.Errorf("headers: %v", err)
	}
}

// TestAStoredImageMayGrowAsWhatItCameFrom: the store has compressed it.
func TestAStoredImageMayGrowAsWhatItCameFrom(t *testing.T) {
	s := newStore(t)
	e := imported(t, s, "frr", imageOf(t, v1.Config{}, layerOf(t, lower...)))
	if e.FromBytes == 0 || e.FromBytes != e.Bytes {
		t.Errorf("%d bytes became %d", e.FromBytes, e.Bytes)
	}
	e.FromBytes = 5 << 30
	if from, err := s.kept(e); err != nil {
		t.Error(err)
	} else if from.bytes != e.FromBytes {
		t.Errorf("it counts as %d bytes", from.bytes)
	}
}

// zstdFrame is a frame with a window of 2^log bytes and one block, which is not compressed (RFC 8878,
// section 3.1.1).
func zstdFrame(log int, text []byte) []byte {
	block := uint32(len(text))<<3 | 1
	head := append(bytes.Clone(zstdMagic), 0, byte(log-10)<<3, byte(block), byte(block>>8), byte(block>>16))
	return append(head, text...)
}

// TestMemoryIsBounded: what a file demands of it to be decompressed.
func TestMemoryIsBounded(t *testing.T) {
	text := layerOf(t, lower...)
	for _, form := range []func(frame []byte) string{
		func(frame []byte) string { return "rootfs:" + fileOf(t, "rootfs.tar.zst", frame) },
		func(frame []byte) string {
			return "oci:" + layoutWith(t, map[string]v1.Image{"": imageOf(t, v1.Config{}, frame)})
		},
	} {
		refusedImage(t, form(zstdFrame(28, text)), "--long")
		if _, err := newStore(t).Unpack(context.Background(), form(zstdFrame(27, text))); err != nil {
			t.Errorf("with the window of zstd's highest level: %v", err)
		}
	}
}

// TestXZsMemoryIsBounded: a file that names a dictionary of 1 GiB.
func TestXZsMemoryIsBounded(t *testing.T) {
	program, err := exec.LookPath("xz")
	labtest.Require(t, "xz", err == nil)
	cmd := exec.Command(program, "-9", "--threads=1", "--stdout")
	cmd.Stdin = bytes.NewReader(layerOf(t, lower...))
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newStore(t).Unpack(context.Background(), "rootfs:"+fileOf(t, "rootfs.tar.xz", text)); err != nil {
		t.Errorf("of xz -9: %v", err)
	}
	// The header of the block follows that of the stream: its size, flags, the filter LZMA2, and the size
	// of its properties, which are the dictionary's size (sections 3.1 and 5.3.1 of the xz format).
	block := text[12 : 12+(int(text[12])+1)*4]
	if block[2] != 0x21 || block[3] != 1 {
		t.Fatalf("the block begins with % x", block)
	}
	block[4] = 36
	binary.LittleEndian.PutUint32(block[len(block)-4:], crc32.ChecksumIEEE(block[:len(block)-4]))
	refusedImage(t, "rootfs:"+fileOf(t, "rootfs.tar.xz", text), "xz -d")
}

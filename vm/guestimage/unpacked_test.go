package guestimage

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/test/labtest"
)

// note is one of an ELF file.
func note(owner string, kind uint32, description string) []byte {
	var out bytes.Buffer
	for _, word := range []uint32{uint32(len(owner)), uint32(len(description)), kind} {
		_ = binary.Write(&out, binary.LittleEndian, word)
	}
	for _, text := range []string{owner, description} {
		out.WriteString(text)
		out.Write(make([]byte, (4-len(text)%4)%4))
	}
	return out.Bytes()
}

// kernelELF is an ELF file with notes.
func kernelELF(notes ...[]byte) []byte {
	all := bytes.Join(notes, nil)
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: 1,
	}
	part := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: 64 + 56, Filesz: uint64(len(all)), Memsz: uint64(len(all)), Align: 4}
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, header)
	_ = binary.Write(&out, binary.LittleEndian, part)
	out.Write(all)
	return out.Bytes()
}

// packed is an x86 image with a packed kernel, between other things.
func packed(payload []byte) []byte {
	image := append(bzImage("6.1.0-50-amd64"), "decompressor"...)
	image[setupSectors] = 1
	binary.LittleEndian.PutUint16(image[protocolOffset:], 0x020f)
	binary.LittleEndian.PutUint32(image[payloadOffset:], uint32(len(image)-2*sector))
	binary.LittleEndian.PutUint32(image[payloadLength:], uint32(len(payload)))
	return append(append(image, payload...), "and more"...)
}

func withLength(data []byte, kernel []byte) []byte {
	return binary.LittleEndian.AppendUint32(data, uint32(len(kernel)))
}

func byXZ(t *testing.T, kernel []byte) []byte {
	t.Helper()
	path, err := exec.LookPath("xz")
	labtest.Require(t, "xz (xz-utils)", err == nil)
	cmd := exec.Command(path, "--check=crc32", "--x86", "--lzma2=dict=32MiB", "--stdout") // scripts/xz_wrap.sh of Linux
	cmd.Stdin = bytes.NewReader(kernel)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return withLength(out, kernel)
}

func byZstd(t *testing.T, kernel []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	// As Linux packs it: a window larger than most kernels.
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(128<<20))
	if err != nil {
		t.Fatal(err)
	}
	return withLength(written(t, w, &out, kernel), kernel)
}

func byGzip(t *testing.T, kernel []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	return written(t, gzip.NewWriter(&out), &out, kernel)
}

func written(t *testing.T, w io.WriteCloser, out *bytes.Buffer, kernel []byte) []byte {
	t.Helper()
	if _, err := w.Write(kernel); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAKernelIsUnpacked(t *testing.T) {
	pvh := kernelELF(note("GNU\x00", 3, "a build ID"), note("Xen\x00", 6, "linux"), note("Xen\x00", pvhEntry, "\x00\x10\x00\x01"))
	other := kernelELF(note("GNU\x00", pvhEntry, "\x00\x10\x00\x01"), note("Xen\x00", 6, "linux"))
	short := packed(byGzip(t, pvh))
	binary.LittleEndian.PutUint32(short[payloadLength:], 1<<30)
	old := packed(byGzip(t, pvh))
	binary.LittleEndian.PutUint16(old[protocolOffset:], 0x0207)
	for name, c := range map[string]struct {
		image  []byte
		kernel []byte // nil: vmlinuz boots
	}{
		"xz":                           {packed(byXZ(t, pvh)), pvh},
		"zstd":                         {packed(byZstd(t, pvh)), pvh},
		"gzip":                         {packed(byGzip(t, pvh)), pvh},
		"without PVH":                  {packed(byXZ(t, other)), nil},
		"LZ4":                          {packed([]byte("\x02\x21\x4c\x18 and so on")), nil},
		"no ELF":                       {packed(byGzip(t, []byte("text"))), nil},
		"a note that ends too early":   {packed(byGzip(t, kernelELF(pvh[120:130]))), nil},
		"a note of 4 GiB":              {packed(byGzip(t, kernelELF(bytes.Repeat([]byte{0xff}, 24)))), nil},
		"payload past the end":         {short, nil},
		"an old protocol":              {old, nil},
		"no header":                    {make([]byte, 4096), nil},
		"empty":                        {nil, nil},
		"a payload shorter than magic": {packed([]byte("\xfd7")), nil},
	} {
		dir := folderWith(t, c.image)
		if err := unpackKernel(t.Context(), dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, kernel := packedName, c.image
		if c.kernel != nil {
			want, kernel = unpackedName, c.kernel
		}
		boots, err := os.ReadFile(bootImage(dir))
		if filepath.Base(bootImage(dir)) != want || err != nil || !bytes.Equal(boots, kernel) {
			t.Errorf("%s: %s boots, want %s (%v)", name, bootImage(dir), want, err)
		}
	}
}

// Debian's kernels are fetched where xz is; a kernel of the host's boots without.
func TestAKernelBootsPackedWithoutXZ(t *testing.T) {
	image := packed(byXZ(t, kernelELF(note("Xen\x00", pvhEntry, "\x00\x10\x00\x01"))))
	dir := folderWith(t, image)
	t.Setenv("PATH", "")
	if err := unpackKernel(t.Context(), dir); err != nil || filepath.Base(bootImage(dir)) != packedName {
		t.Errorf("%s boots: %v", bootImage(dir), err)
	}
}

func folderWith(t *testing.T, image []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, packedName), image, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestADamagedKernelIsTold: nothing of it is left that would boot.
func TestADamagedKernelIsTold(t *testing.T) {
	pvh := kernelELF(note("Xen\x00", pvhEntry, "\x00\x10\x00\x01"))
	for name, payload := range map[string][]byte{"xz": byXZ(t, pvh), "zstd": byZstd(t, pvh), "gzip": byGzip(t, pvh)} {
		for cut := 6; cut < len(payload)-lengthBytes; cut++ {
			dir := folderWith(t, packed(payload[:cut]))
			if err := unpackKernel(t.Context(), dir); err == nil {
				t.Errorf("%s, %d of %d bytes: no error", name, cut, len(payload))
			}
			if exists(filepath.Join(dir, unpackedName)) {
				t.Errorf("%s, %d of %d bytes: vmlinux is there", name, cut, len(payload))
			}
		}
	}
}

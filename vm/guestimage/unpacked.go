package guestimage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

const (
	packedName   = "vmlinuz"
	unpackedName = "vmlinux"
)

// unpackKernel puts vmlinux beside the vmlinuz of a folder, if QEMU can boot it: a translated guest is slow to unpack its
// own kernel. Without it, vmlinuz boots.
func unpackKernel(ctx context.Context, dir string) error {
	image, err := os.ReadFile(filepath.Join(dir, packedName))
	if err != nil {
		return err
	}
	payload := payloadOf(image)
	unpack := unpackerOf(payload)
	if unpack == nil {
		return nil
	}
	path := filepath.Join(dir, unpackedName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(unpack(ctx, file, payload), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("unpack the kernel: %w", err), os.Remove(path))
	}
	if !bootsByPVH(path) {
		return os.Remove(path)
	}
	return nil
}

// bootImage is what QEMU boots of a kernel's folder.
func bootImage(dir string) string {
	if path := filepath.Join(dir, unpackedName); exists(path) {
		return path
	}
	return filepath.Join(dir, packedName)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const (
	// Positions in an x86 image (Documentation/arch/x86/boot.rst: setup_sects, version, payload_offset,
	// payload_length), and the first version of the protocol with a payload.
	setupSectors   = 0x1f1
	protocolOffset = 0x206
	payloadOffset  = 0x248
	payloadLength  = 0x24c
	withPayload    = 0x0208
	sector         = 512
	// What packs the kernel adds its length in 4 bytes (scripts/Makefile.lib: size_append), gzip has it itself.
	lengthBytes = 4
)

// payloadOf is the packed kernel in an x86 image, empty if there is none.
func payloadOf(image []byte) []byte {
	if len(image) < payloadLength+lengthBytes || string(image[headerOffset:headerOffset+len(headerMark)]) != headerMark ||
		binary.LittleEndian.Uint16(image[protocolOffset:]) < withPayload {
		return nil
	}
	sectors := uint64(image[setupSectors])
	if sectors == 0 {
		sectors = 4 // boot.rst
	}
	begin := (sectors+1)*sector + uint64(binary.LittleEndian.Uint32(image[payloadOffset:]))
	end := begin + uint64(binary.LittleEndian.Uint32(image[payloadLength:]))
	if end > uint64(len(image)) {
		return nil
	}
	return image[begin:end]
}

type unpacker func(ctx context.Context, to io.Writer, payload []byte) error

// unpackerOf finds by its first bytes how a kernel is packed: nil for ways in which a guest unpacks it quickly, for
// those that are out of use, and where the program is missing.
func unpackerOf(payload []byte) unpacker {
	switch {
	case bytes.HasPrefix(payload, []byte("\xfd7zXZ\x00")):
		if _, err := exec.LookPath("xz"); err == nil {
			return unpackXZ
		}
	case bytes.HasPrefix(payload, []byte("\x28\xb5\x2f\xfd")):
		return unpackZstd
	case bytes.HasPrefix(payload, []byte("\x1f\x8b")):
		return unpackGzip
	}
	return nil
}

func unpackXZ(ctx context.Context, to io.Writer, payload []byte) error {
	cmd := command(ctx, "", "xz", "--decompress", "--stdout")
	cmd.Stdin = bytes.NewReader(payload[:len(payload)-lengthBytes])
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("xz: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

func unpackZstd(_ context.Context, to io.Writer, payload []byte) error {
	reader, err := zstd.NewReader(bytes.NewReader(payload[:len(payload)-lengthBytes]))
	if err != nil {
		return err
	}
	defer reader.Close()
	_, err = io.Copy(to, reader)
	return err
}

func unpackGzip(_ context.Context, to io.Writer, payload []byte) error {
	reader, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return err
	}
	reader.Multistream(false)
	_, err = io.Copy(to, reader)
	return err
}

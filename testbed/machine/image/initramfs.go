package image

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Initramfs writes the first file system of a guest: the program nines-guest as its
// first process, and the modules that it loads. The folder is that of a kernel's
// modules, as /lib/modules/6.1.0-50-amd64.
func Initramfs(w io.Writer, guest, folder string) error {
	program, err := os.ReadFile(guest)
	if err != nil {
		return fmt.Errorf("the guest's first process (make build): %w", err)
	}
	modules, err := readDependencies(folder)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(w, 1<<20)
	a := &archive{w: buffer}
	if err := a.file("init", program); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, file := range modules.order(firstModules) {
		data, err := readModule(filepath.Join(folder, file))
		if err != nil {
			return err
		}
		plain := "modules/" + strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if filepath.Ext(file) == ".ko" {
			plain = "modules/" + filepath.Base(file)
		}
		fmt.Fprintf(&list, "/%s\n", plain)
		if err := a.file(plain, data); err != nil {
			return err
		}
	}
	if err := a.file("modules.list", list.Bytes()); err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return err
	}
	return buffer.Flush()
}

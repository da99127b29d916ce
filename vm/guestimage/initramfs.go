package guestimage

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// moduleList is the file with the load order of the modules, in a kernel's folder and in
// the initramfs.
const moduleList = "modules.list"

// writeFirstModules copies a guest's first modules out of a kernel's modules folder, such
// as /lib/modules/6.1.0-50-amd64, so that an initramfs only has to include them.
func writeFirstModules(modules, into string) error {
	d, err := readDependencies(modules)
	if err != nil {
		return err
	}
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, file := range d.order(firstModules) {
		data, err := readModule(filepath.Join(modules, file))
		if err != nil {
			return err
		}
		name := moduleName(file) + ".ko"
		fmt.Fprintln(&list, name)
		if err := os.WriteFile(filepath.Join(into, name), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(into, moduleList), list.Bytes(), 0o644)
}

// writeInitramfs writes a guest's initramfs: the program nines-guest as its first process,
// and the modules that it loads.
func writeInitramfs(w io.Writer, guest, first string) error {
	init, err := os.ReadFile(guest)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(first, moduleList))
	if err != nil {
		return err
	}
	records := program("init", init)
	var paths strings.Builder
	for _, name := range lines(string(list)) {
		data, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&paths, "/modules/%s\n", name)
		records = append(records, program("modules/"+name, data)...)
	}
	return writeArchive(w, append(records, program(moduleList, []byte(paths.String()))...))
}

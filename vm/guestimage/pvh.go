package guestimage

import (
	"debug/elf"
	"encoding/binary"
	"io"
)

const (
	// The note in which a kernel names its entry point for PVH, which QEMU needs to boot it unpacked
	// (XEN_ELFNOTE_PHYS32_ENTRY in include/xen/interface/elfnote.h of Linux; load_elfboot in QEMU).
	noteOwner = "Xen\x00"
	pvhEntry  = 18
)

// bootsByPVH reports whether an ELF file has the entry point that QEMU needs.
func bootsByPVH(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	if file.Machine != elf.EM_X86_64 {
		return false
	}
	for _, part := range file.Progs {
		if part.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(part.Open())
		if err == nil && hasNote(notes, noteOwner, pvhEntry) {
			return true
		}
	}
	return false
}

// hasNote looks through the notes of an ELF file: three words, the name and the description, each padded to 4 bytes.
func hasNote(notes []byte, owner string, kind uint32) bool {
	const words, padding = 12, 4
	for len(notes) >= words {
		name := uint64(binary.LittleEndian.Uint32(notes))
		description := uint64(binary.LittleEndian.Uint32(notes[4:]))
		found := binary.LittleEndian.Uint32(notes[8:])
		notes = notes[words:]
		padded := (name + padding - 1) / padding * padding
		if padded > uint64(len(notes)) {
			return false
		}
		if found == kind && string(notes[:name]) == owner {
			return true
		}
		next := padded + (description+padding-1)/padding*padding
		if next > uint64(len(notes)) {
			return false
		}
		notes = notes[next:]
	}
	return false
}

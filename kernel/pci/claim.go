package pci

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/ledger"
)

// taken is the error that another lab or program uses a function.
func taken(address, by string) error {
	return exit.Lacksf("%s is now used by %s; plan again, or take that down", address, by)
}

// sameLab is true for tokens of one lab's journal, which begin alike up to a colon
// (journal.Journal.Token).
func sameLab(a, b string) bool {
	labA, _, _ := strings.Cut(a, ":")
	labB, _, _ := strings.Cut(b, ":")
	return labA == labB
}

// claim records that a lab has a function, unless another lab has it.
func (b Bus) claim(address string, c Claim) error {
	other, err := b.claimed(address)
	if err != nil {
		return err
	}
	if other != nil && other.Token != c.Token {
		return taken(address, "the lab "+other.Lab)
	}
	if c.Boot, err = boot.ID(); err != nil {
		return err
	}
	return b.file(address).Write(c)
}

// claimed is nil if no lab of this boot has a function.
func (b Bus) claimed(address string) (*Claim, error) {
	var c Claim
	valid, err := b.load(address, &c, &c.Boot)
	if !valid {
		return nil, err
	}
	return &c, nil
}

// load reads a file in the claims folder. What it says is valid only in the boot of which it is. A file
// that cannot be read is no absent one: without it a function or port would pass for nobody's.
func (b Bus) load(name string, record any, of *string) (valid bool, err error) {
	id, err := boot.ID()
	if err == nil {
		err = b.file(name).Read(record)
	}
	if err != nil {
		return false, fmt.Errorf("find out which lab has it: %w", err)
	}
	return *of == id, nil
}

// file is a file in the claims folder; the function's lock protects it.
func (b Bus) file(name string) ledger.File {
	return ledger.File{Path: filepath.Join(b.claims(), name), Mode: 0o644}
}

// release removes a file from the claims folder, and the folder with the last file.
func (b Bus) release(name string) error {
	err := b.file(name).Remove()
	_ = os.Remove(filepath.Dir(b.claims())) // if nothing else is in it
	return err
}

package pci

import (
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/kernel/ledger"
)

// taken is the error that another lab or program uses a function.
func taken(address, by string) error {
	return exit.Lacksf("%s is used by %s by now; plan again, or take that down", address, by)
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
	if other := b.claimed(address); other != nil && other.Token != c.Token {
		return taken(address, "the lab "+other.Lab)
	}
	c.Boot = boot.ID()
	return b.file(address).Write(c)
}

// claimed is nil if no lab of this boot has a function.
func (b Bus) claimed(address string) *Claim {
	var c Claim
	if b.file(address).Read(&c) != nil || c.Boot != boot.ID() {
		return nil
	}
	return &c
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

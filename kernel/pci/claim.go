package pci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/host"
)

// taken is a function that somebody else has.
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

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

// claim writes down that a lab has a function, unless another has it.
func (b Bus) claim(address string, c host.Claim) error {
	if other := b.claimed(address); other != nil && other.Token != c.Token {
		return taken(address, "the lab "+other.Lab)
	}
	c.Boot = bootID()
	return b.save(address, c)
}

// claimed is nil where no lab of this boot has a function.
func (b Bus) claimed(address string) *host.Claim {
	var c host.Claim
	if !b.load(address, &c) || c.Boot != bootID() {
		return nil
	}
	return &c
}

// release removes a claim, and the folder of claims with the last one.
func (b Bus) release(name string) error {
	for _, file := range []string{name + ".new", name} {
		if err := os.Remove(filepath.Join(b.claims(), file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("give %s back: %w", name, err)
		}
	}
	// Neither may be empty.
	_ = os.Remove(b.claims())
	_ = os.Remove(filepath.Dir(b.claims()))
	return nil
}

func (b Bus) load(name string, value any) bool {
	text, err := os.ReadFile(filepath.Join(b.claims(), name))
	return err == nil && json.Unmarshal(text, value) == nil
}

// save replaces a file of the claims' folder at once. Another lab's release may remove
// the folder in between.
func (b Bus) save(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(b.claims(), name)
	next := path + ".new" // nobody else writes it: the function is locked
	for range 10 {
		if err = os.MkdirAll(b.claims(), 0o755); err != nil {
			continue
		}
		if err = os.WriteFile(next, append(text, '\n'), 0o644); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		break
	}
	fault.Point("claim half written")
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write down who has %s: %w", name, err)
	}
	return nil
}

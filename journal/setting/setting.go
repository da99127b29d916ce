package setting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Read reads a setting's file in the journal's form: without surrounding white space, and only
// the chosen word of a list such as "always [madvise] never".
func Read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return Chosen(string(text)), nil
}

// choice matches the kernel's mark for the chosen word of a list, as in
// /sys/kernel/mm/transparent_hugepage/enabled.
var choice = regexp.MustCompile(`\[([^\]\s]+)\]`)

// Chosen returns the text of a setting's file without surrounding white space, or the chosen
// word if the file lists its choices.
func Chosen(text string) string {
	text = strings.TrimSpace(text)
	if m := choice.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// masks are the files that hold a bitmap of CPUs. The kernel prints one bit for each possible
// CPU, in groups of 32 bits with commas (bitmap_print_to_pagebuf in lib/bitmap-str.c).
var masks = []string{"cpumask", "rps_cpus", "xps_cpus", "smp_affinity", "default_smp_affinity", "affinity_hint"}

// Same reports whether two texts mean the same in a setting's file.
func Same(path, a, b string) bool {
	a, b = Chosen(a), Chosen(b)
	if slices.Contains(masks, filepath.Base(path)) {
		a, b = plainMask(a), plainMask(b)
	}
	return a == b
}

func plainMask(mask string) string {
	plain := strings.TrimLeft(strings.ReplaceAll(strings.ToLower(mask), ",", ""), "0")
	if plain == "" {
		return "0"
	}
	return plain
}

// Write writes a setting's file, which must exist. It ends the value with a newline if the file's
// present text ends with one.
func Write(path, value string) error {
	if now, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(now), "\n") {
		value += "\n"
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// RefusedError means that the kernel refused a value; the setting is unchanged.
type RefusedError struct {
	Path, Value string
	Err         error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refused %q in %s: %v", e.Value, e.Path, e.Err)
}

// Unwrap returns the kernel's error.
func (e *RefusedError) Unwrap() error { return e.Err }

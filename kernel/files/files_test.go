package files

import (
	"os"
	"slices"
	"testing"
)

// TestATreeIsReadBelowItsFolder: what cannot be read is unknown, and links are given as written.
func TestATreeIsReadBelowItsFolder(t *testing.T) {
	d := Dir(t.TempDir())
	for path, text := range map[string]string{"/sys/b": " 7 \n", "/sys/a": "x\n", "/sys/c": "-3\n"} {
		if err := os.MkdirAll(d.Path("/sys"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Path(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../nowhere", d.Path("/sys/link")); err != nil {
		t.Fatal(err)
	}
	if names, err := d.ReadDir("/sys"); err != nil || !slices.Equal(names, []string{"a", "b", "c", "link"}) {
		t.Errorf("the folder has %v, %v", names, err)
	}
	if target, err := d.ReadLink("/sys/link"); err != nil || target != "../nowhere" || d.Exists("/sys/link") || !d.Exists("/sys/a") {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if Text(d, "/sys/a") != "x" || Text(d, "/sys/none") != "" {
		t.Errorf("texts: %q, %q", Text(d, "/sys/a"), Text(d, "/sys/none"))
	}
	if IntOr(d, "/sys/b", 1) != 7 || IntOr(d, "/sys/c", 1) != -3 || IntOr(d, "/sys/a", 1) != 1 || IntOr(d, "/sys/none", 1) != 1 {
		t.Error("numbers are not read as they stand, or not told as unknown")
	}
}

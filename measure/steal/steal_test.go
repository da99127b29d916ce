package steal

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestStealIsReadByCPU(t *testing.T) {
	root := t.TempDir()
	const stat = "cpu  100 0 50 900 0 0 7 30 0 0\ncpu0 50 0 25 450 0 0 3 10 0 0\ncpu12 50 0 25 450 0 0 4 20 0 0\nintr 1 2 3 4 5 6 7 8 9\n"
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/stat"), []byte(stat), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Read(root)
	if want := map[int]time.Duration{0: 100 * time.Millisecond, 12: 200 * time.Millisecond}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestThisHostHasStealTimes(t *testing.T) {
	steal, err := Read("/")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := steal[0]; !ok {
		t.Errorf("CPU 0 was not read from /proc/stat: %v", steal)
	}
}

package replace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatWasWrittenIsRead: a missing or damaged file is an error.
func TestWhatWasWrittenIsRead(t *testing.T) {
	type value struct{ Name string }
	path := filepath.Join(t.TempDir(), "value.json")
	if _, err := Read[value](path); !os.IsNotExist(err) {
		t.Errorf("without a file: %v", err)
	}
	if got, err := ReadIfThere[*value](path); got != nil || err != nil {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if err := JSON(path, value{"a"}, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read[value](path); got.Name != "a" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ReadIfThere[*value](path); got == nil || got.Name != "a" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if err := File(path, []byte(`{"Name":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadIfThere[value](path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("half a file: %v", err)
	}
}

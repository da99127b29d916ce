package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRulesForDevices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := DeviceRules([]string{"/dev/kmsg"}, []string{file, "/nowhere", "/dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	for _, want := range []string{"c *:* m", "c 1:3 rwm", "c 136:* rwm", "c 1:11 rwm", "c 1:5 rwm"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is not in %q", want, texts)
		}
	}
	for _, bad := range []string{file, "/nowhere"} {
		if _, err := DeviceRules([]string{bad}, nil); err == nil {
			t.Errorf("%s is taken for a device", bad)
		}
	}
}

package traces

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// Sysctls reads every sysctl of the host that does not change by itself.
func Sysctls(t testing.TB) map[string]string {
	t.Helper()
	labtest.WholeHost(t)
	labtest.Hugepages(t) // their number is one of the settings
	values := map[string]string{}
	err := filepath.WalkDir("/proc/sys", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read cannot be compared
		}
		// perf_event_max_sample_rate: the kernel lowers it when profiling costs too much.
		for _, moving := range []string{"/perf_event_max_sample_rate", "/random/", "/fs/", "/ns_last_pid", "/pty/nr", "_count", "/hung_task", "/vm/stat_refresh", "nf_conntrack", "/route/flush"} {
			if strings.Contains(path, moving) {
				return nil
			}
		}
		if text, err := os.ReadFile(path); err == nil {
			values[path] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// SameSysctls fails the test if a sysctl of the host is not what it was.
func SameSysctls(t testing.TB, before map[string]string) {
	t.Helper()
	for path, now := range Sysctls(t) {
		if was, known := before[path]; known && was != now {
			t.Errorf("%s was %q and is %q", path, was, now)
		}
	}
}

package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNoiseSince(t *testing.T) {
	before := noise{steal: map[int]time.Duration{0: 1, 1: 10}, throttled: 5}
	after := noise{steal: map[int]time.Duration{0: 4, 1: 10}, throttled: 9}
	if steal, throttled := after.since(before); steal != 3 || throttled != 4 {
		t.Errorf("since = %v, %v", steal, throttled)
	}
}

// TestThrottledOfBothVersions reads a process in a nested cgroup: its own time and that of the
// parent groups count.
func TestThrottledOfBothVersions(t *testing.T) {
	tests := map[string]struct {
		cgroup string
		files  map[string]string
		want   time.Duration
	}{
		"v2": {"0::/lab/dut\n", map[string]string{
			"sys/fs/cgroup/lab/dut/cpu.stat": "usage_usec 5\nthrottled_usec 30\n",
			"sys/fs/cgroup/lab/cpu.stat":     "throttled_usec 4\n",
		}, 34 * time.Microsecond},
		"v1": {"4:cpu,cpuacct:/lab\n2:memory:/other\n", map[string]string{
			"sys/fs/cgroup/cpu/lab/cpu.stat": "nr_throttled 1\nthrottled_time 7000\n",
		}, 7 * time.Microsecond},
		"none": {"0::/\n", nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			test.files = withFile(withFile(test.files, "proc/42/cgroup", test.cgroup), "proc/stat", "cpu0 1 0 1 1 0 0 0 0 0 0\n")
			for path, content := range test.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// The same process twice: its groups count once.
			got, err := noiseReader{root: root, pids: []int{42, 42}}.read()
			if err != nil {
				t.Fatal(err)
			}
			if got.throttled != test.want {
				t.Errorf("throttled %v, want %v", got.throttled, test.want)
			}
		})
	}
}

func withFile(files map[string]string, path, content string) map[string]string {
	all := map[string]string{path: content}
	for p, c := range files {
		all[p] = c
	}
	return all
}

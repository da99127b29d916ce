package traces

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// WakeLatencies are the CPUs' limits on wake-up latency, by PM QoS, without CPUs that someone else
// keeps awake.
func WakeLatencies(t testing.TB) map[string]string {
	t.Helper()
	paths, _ := filepath.Glob("/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us")
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if value := strings.TrimSpace(string(text)); value != "n/a" {
			all[path] = value
		}
	}
	return all
}

// AsleepAgain fails the test if CPUs that were not kept awake before still are. It waits, as
// another lab of this host may keep them awake for a while.
func AsleepAgain(t testing.TB, before map[string]string, what string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		now := WakeLatencies(t)
		left := slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(path string) bool { return now[path] == before[path] })
		if len(left) == 0 {
			return
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%s: %s were %v and are %v", what, left, before, now)
		}
	}
}

package isolate

import "testing"

func TestMemoryKillsAreRead(t *testing.T) {
	for text, want := range map[string]int{
		"low 0\nhigh 3\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n": 2,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n":                1,
		"oom_kill_disable 0\nunder_oom 0\n":                            0, // before Linux 4.13
		"":                                                             0,
	} {
		if got := memoryKillsIn([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

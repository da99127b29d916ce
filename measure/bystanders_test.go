package measure

import (
	"os"
	"strings"
	"testing"

	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// TestBystandersAreNamed: by process and command, without those of the trial and those that nobody can find.
func TestBystandersAreNamed(t *testing.T) {
	run := func(tid int, name string, ns int64) result.Event {
		return result.Event{Kind: result.EventThread, TID: int32(tid), Name: name, EndNs: ns}
	}
	const gone = 1 << 30
	got := bystanders([]result.Event{run(os.Getpid(), "test", 5), run(os.Getpid(), "test", 6), run(1, "init", 90), run(gone, "gone", 99), run(0, "idle", 999)},
		[]result.TracedThread{{TID: 1}})
	if len(got) != 1 || got[0].PID != os.Getpid() || got[0].Name != "test" || got[0].RanNs != 11 || !strings.Contains(got[0].Command, "measure.test") {
		t.Errorf("%+v", got)
	}
}

// TestCommandsAreShownWithoutTheirOptions: passwords are often among them.
func TestCommandsAreShownWithoutTheirOptions(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/nines\x00run\x00lab.yaml\x00--set\x00a=b\x00": "nines run lab.yaml",
		"mysql\x00-psecret\x00db\x00":                           "mysql",
		"curl\x00https://me:secret@host\x00":                    "curl",
		"sh\x00TOKEN=secret\x00":                                "sh",
		"":                                                      "",
		"nines: worker\x00":                                     "nines: worker",
	} {
		if got := shownCommand([]byte(line)); got != want {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
	labs := []lab.Status{{Name: "one", Prefix: "onex"}, {Name: "two", Prefix: "two"}}
	for groups, want := range map[string]string{
		"4:cpuset:/onex/onex-a\n3:cpu:/\n": "one", "0::/two.host/a\n": "two", "0::/twofold\n": "", "0::/\n": "",
	} {
		if got := labOf(groups, labs); got != want {
			t.Errorf("%q is in %q", groups, got)
		}
	}
}

package spec

import (
	"os"
	"strings"
	"testing"
)

// TestTheDocumentHasEachWayToLeave: the table of docs/own-device.md says of each what its descriptor does.
func TestTheDocumentHasEachWayToLeave(t *testing.T) {
	text, err := os.ReadFile("../docs/own-device.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range leaves {
		found := false
		for _, line := range strings.Split(string(text), "\n") {
			found = found || strings.HasPrefix(line, "| `"+string(d.Leaves)+"` | "+d.Examples+" | ") && strings.HasSuffix(line, " | "+d.Seen+" |")
		}
		if !found {
			t.Errorf("no row `%s` | %s | … | %s", d.Leaves, d.Examples, d.Seen)
		}
	}
}

func TestWhoForwards(t *testing.T) {
	for _, test := range []struct {
		app    *App
		routes bool
	}{
		{nil, false}, {&App{Kind: AppForward}, false}, {&App{Kind: AppRoute}, true},
		{&App{Kind: AppDevice}, false}, {&App{Kind: AppDevice, Forwarding: ForwardedByKernel}, true},
		{&App{Kind: AppDevice, Leaves: LeavesRouted}, true}, {&App{Kind: AppDevice, Leaves: LeavesTranslated}, true},
		{&App{Kind: AppDevice, Leaves: LeavesRouted, Forwarding: ForwardedByOwn}, false},
		{&App{Kind: AppDevice, Leaves: LeavesRelayed}, false}, {&App{Kind: AppDevice, Leaves: LeavesUnchanged}, false},
	} {
		if h := test.app.Handling(); h.Routes() != test.routes {
			t.Errorf("%+v: the kernel forwards: %v", h, h.Routes())
		}
	}
}

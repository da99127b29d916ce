package busypoll

import (
	"os"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestFilesThatHaveRunOutAreNoMissingFeature: each try that could not be made says so.
func TestFilesThatHaveRunOutAreNoMissingFeature(t *testing.T) {
	labtest.Require(t, "root, to read sysfs of another network namespace", os.Geteuid() == 0)
	var f Features
	labtest.WithoutFiles(t, func() { f = Probe() })
	for name, lack := range map[string]Lack{
		"napi-get": f.NAPIGet, "netlink": f.Netlink, "irq suspension": f.Suspend, "io_uring": f.IOUring, "epoll": f.Epoll, "threaded": f.Threaded,
	} {
		if !strings.HasPrefix(string(lack), "cannot find out: ") || !strings.HasSuffix(string(lack), "too many open files") {
			t.Errorf("%s: %q", name, lack)
		}
		if err := lack.Missing(name, ""); exit.Code(err) != exit.Failed || strings.Contains(err.Error(), "lacks") {
			t.Errorf("%s: %v, exit code %d", name, err, exit.Code(err))
		}
	}
	if _, _, err := Choose(f, spec.PollAuto); exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("the choice is %v, exit code %d", err, exit.Code(err))
	}
}

// TestALackIsAMissingFeature, where the try told so; one mechanism that may be there leaves the choice open.
func TestALackIsAMissingFeature(t *testing.T) {
	none := Features{NAPIGet: "none", Netlink: "none", Livepatch: "none", IOUring: "none", Epoll: "none", Threaded: "none", Suspend: "none"}
	if _, _, err := Choose(none, spec.PollAuto); exit.Code(err) != exit.Lacks {
		t.Errorf("%v, exit code %d", err, exit.Code(err))
	}
	if err := none.Threaded.Missing("threaded NAPI", "use another"); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "lacks threaded NAPI: none; use another") {
		t.Errorf("%v, exit code %d", err, exit.Code(err))
	}
	none.Netlink = untold + "too many open files"
	if _, _, err := Choose(none, spec.PollAuto); exit.Code(err) != exit.Failed {
		t.Errorf("%v, exit code %d", err, exit.Code(err))
	}
	if _, _, err := Choose(none, spec.PollEpoll); exit.Code(err) != exit.Lacks {
		t.Errorf("epoll: %v, exit code %d", err, exit.Code(err))
	}
}

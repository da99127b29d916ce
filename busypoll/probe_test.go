package busypoll

import (
	"os"
	"strings"
	"testing"

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
	}
}

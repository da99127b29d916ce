package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

func TestFindKnowsANamespaceAgain(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	ns, err := New()
	if err != nil {
		t.Fatal(err)
	}
	cookie, err := ns.Cookie()
	if err != nil {
		t.Fatal(err)
	}
	home, err := Current()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	if its, err := home.Cookie(); err != nil || its == cookie || cookie == 0 {
		t.Errorf("cookies: ours %d, the other's %d, %v", its, cookie, err)
	}
	path := fmt.Sprintf("/proc/self/fd/%d", ns.FD())
	found, err := Find(path, cookie)
	if err != nil || found == nil {
		t.Fatalf("by its path: %v, %v", found, err)
	}
	if err := found.Close(); err != nil {
		t.Fatal(err)
	}
	// The path now leads to another namespace, and no process is in ours.
	if found, err = Find("/proc/self/ns/net", cookie); found != nil || err != nil {
		t.Errorf("a namespace that nothing names: %v, %v", found, err)
	}
	own, err := home.Cookie()
	if err != nil {
		t.Fatal(err)
	}
	if found, err = Find(path, own); found == nil || err != nil {
		t.Fatalf("ours, by its processes: %v, %v", found, err)
	}
	if err := found.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ns.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := Find("/no/such/path", cookie); found != nil || err != nil {
		t.Errorf("one that is gone: %v, %v", found, err)
	}
}

// TestWhatMayNotBeLookedAtIsNotGone: the namespace may still be at its path.
func TestWhatMayNotBeLookedAtIsNotGone(t *testing.T) {
	hidden := filepath.Join(t.TempDir(), "hidden")
	if err := os.Mkdir(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	labtest.AsAnother(t, func() {
		if found, err := Find(filepath.Join(hidden, "ns"), 1); found != nil || !errors.Is(err, unix.EACCES) {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// TestWhatCannotBeReadIsNotGone: a search that cannot open what it looks at has found nothing out.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	labtest.WithoutFiles(t, func() {
		if paths, err := Paths(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("%d paths, %v", len(paths), err)
		}
		if found, err := Find("/no/such/path", 1); found != nil || !errors.Is(err, unix.EMFILE) {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

package busypoll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// deviceFixture is a namespace with a veth pair, and a journal for its settings.
type deviceFixture struct {
	*testing.T
	ns      *netns.Namespace
	journal *journal.Journal
	notes   []string
}

func newDeviceFixture(t *testing.T) *deviceFixture {
	labtest.Require(t, "root", os.Geteuid() == 0)
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	if err := ns.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"})
	}); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	// It is found by its path, as a process's namespace is.
	again, err := netns.Open(fmt.Sprintf("/proc/self/fd/%d", ns.FD()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return &deviceFixture{T: t, ns: again, journal: j}
}

func (f *deviceFixture) make(setting napi.Setting, value string) bool {
	f.Helper()
	changed, err := Site{Journal: f.journal}.makeSetting(f.ns, "two", setting, value)
	if err != nil {
		f.Fatal(err)
	}
	return changed
}

func (f *deviceFixture) undo() {
	f.Helper()
	f.notes = nil
	if err := f.journal.Undo(context.Background(), func(text string) { f.notes = append(f.notes, text) }, nil); err != nil {
		f.Fatal(err)
	}
	if left := f.journal.Entries(); len(left) > 0 {
		f.Errorf("left in the journal: %+v", left)
	}
}

func (f *deviceFixture) read(setting napi.Setting) (value string) {
	f.Helper()
	if err := f.ns.Do(func() (err error) { value, err = setting.Read("two"); return err }); err != nil {
		f.Fatal(err)
	}
	return value
}

var deferral, gro = napi.Attribute("napi_defer_hard_irqs"), napi.Feature("rx-gro")

func TestADevicesSettingsGoBack(t *testing.T) {
	f := newDeviceFixture(t)
	if !f.make(gro, "1") || !f.make(deferral, "4") || f.make(deferral, "4") {
		t.Error("what changed is told wrongly")
	}
	if f.read(gro) != "1" || f.read(deferral) != "4" {
		t.Error("not set")
	}
	f.undo()
	if f.read(gro) != "0" || f.read(deferral) != "0" || len(f.notes) > 0 {
		t.Errorf("gro %s, deferral %s, notes %q", f.read(gro), f.read(deferral), f.notes)
	}
}

func TestWhatOthersSetSinceIsLeftAlone(t *testing.T) {
	f := newDeviceFixture(t)
	f.make(deferral, "4")
	if err := f.ns.Do(func() error { return deferral.Write("two", "9") }); err != nil {
		t.Fatal(err)
	}
	f.undo()
	if f.read(deferral) != "9" || len(f.notes) != 1 {
		t.Errorf("deferral %s, notes %q", f.read(deferral), f.notes)
	}
}

func TestADeviceOfTheSameNameIsLeftAlone(t *testing.T) {
	f := newDeviceFixture(t)
	f.make(deferral, "4")
	if err := f.ns.Do(func() error {
		one, err := netlink.LinkByName("one")
		if err != nil {
			return err
		}
		if err := netlink.LinkDel(one); err != nil {
			return err
		}
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}); err != nil {
			return err
		}
		return deferral.Write("two", "4")
	}); err != nil {
		t.Fatal(err)
	}
	f.undo()
	if f.read(deferral) != "4" || len(f.notes) != 1 {
		t.Errorf("deferral %s, notes %q", f.read(deferral), f.notes)
	}
}

func TestADeviceThatIsGoneTakesItsSettingsAlong(t *testing.T) {
	f := newDeviceFixture(t)
	f.make(deferral, "4")
	if err := f.ns.Do(func() error {
		two, err := netlink.LinkByName("two")
		if err != nil {
			return err
		}
		return netlink.LinkDel(two)
	}); err != nil {
		t.Fatal(err)
	}
	f.undo()
}

func TestARefusedDeviceSettingIsNotJournalled(t *testing.T) {
	f := newDeviceFixture(t)
	// A veth without GRO has no NAPI that could get a thread.
	_, err := Site{Journal: f.journal}.makeSetting(f.ns, "two", napi.Attribute("threaded"), "1")
	if !errors.As(err, new(*setting.RefusedError)) || len(f.journal.Entries()) != 0 {
		t.Errorf("%v, journal %+v", err, f.journal.Entries())
	}
}

func TestAGuardedThreadIsOurs(t *testing.T) {
	for _, c := range []struct {
		target, ours, now string
		want              bool
	}{
		{"thread/17", "fifo:10@2", "idle:0@2", true},
		{"thread/17", "fifo:10@2", "idle:0@3", false},
		{"thread/17", "fifo:10@2", "other:0@2", false},
		{"attribute/threaded", "fifo:10@2", "idle:0@2", false},
	} {
		if got := demoted(c.target, c.ours, c.now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

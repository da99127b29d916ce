package isolate

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// TestBothVersionsControlDevices runs a program in a group of each cgroup version that the host
// has. The program opens a device that is not among the usual ones.
func TestBothVersionsControlDevices(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	const device = "/dev/kmsg"
	allowed, err := cgroup.DeviceRules([]string{device}, nil)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := cgroup.DeviceRules(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, h := range hierarchies {
		if h.Version == 1 && !h.Has("devices") {
			continue
		}
		tested++
		for what, rules := range map[string][]cgroup.DeviceRule{"usual": usual, "allowed": allowed} {
			dir, err := os.MkdirTemp(h.Mount, "nines-devices-test-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(dir) })
			if err := allowDevices(h, dir, rules); err != nil {
				t.Fatalf("version %d: %v", h.Version, err)
			}
			// A shell moves itself into the group and opens what it is told.
			open := func(path string) error {
				return exec.Command("sh", "-c", `echo $$ >"$0"/cgroup.procs && exec 3<"$1"`, dir, path).Run()
			}
			if err := open("/dev/null"); err != nil {
				t.Errorf("version %d, %s: /dev/null: %v", h.Version, what, err)
			}
			if err := open(device); (err == nil) != (what == "allowed") {
				t.Errorf("version %d, %s: %s: %v", h.Version, what, device, err)
			}
		}
	}
	labtest.Require(t, "control groups for devices", tested > 0)
}

func TestADeviceGroupIsSharedUnlessANodeHasItsOwn(t *testing.T) {
	h := tree(t, 1, nil)
	rules, err := cgroup.DeviceRules(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := testLab(t)
	for name, own := range map[string]bool{"p.nodes": false, "p-dut": true} {
		dir, err := l.deviceGroup(h, testNode, own, rules)
		if err != nil || filepath.Base(dir) != name {
			t.Fatalf("got %s, %v", dir, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "devices.deny"))
		if err != nil || !bytes.Equal(text, []byte("a")) {
			t.Errorf("%s: everything else is not denied: %q, %v", name, text, err)
		}
	}
}

// Where a change of a lab fails between making the shared group and setting its rules, the next
// change must not assume that the group has its rules.
func TestASharedGroupWithoutItsRulesGetsThem(t *testing.T) {
	h := tree(t, 1, nil)
	rules, err := cgroup.DeviceRules(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := testLab(t)
	deny := filepath.Join(h.Mount, "p", "p.nodes", "devices.deny")
	if err := os.MkdirAll(deny, 0o755); err != nil { // a folder cannot be written to
		t.Fatal(err)
	}
	if dir, err := l.deviceGroup(h, testNode, false, rules); err == nil {
		t.Fatalf("%s has no rules, and no error", dir)
	}
	if err := os.Remove(deny); err != nil {
		t.Fatal(err)
	}
	again := &Lab{Journal: l.Journal, Plan: l.Plan, Ledger: l.Ledger}
	if _, err := again.deviceGroup(h, testNode, false, rules); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(deny); err != nil || string(text) != "a" {
		t.Errorf("everything else is not denied: %q, %v", text, err)
	}
	// Once the group has its rules it is not changed again: that would interrupt its nodes' access
	// to devices.
	if err := os.Remove(deny); err != nil {
		t.Fatal(err)
	}
	third := &Lab{Journal: l.Journal, Plan: l.Plan, Ledger: l.Ledger}
	if _, err := third.deviceGroup(h, testNode, false, rules); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(deny); err == nil {
		t.Error("its rules were made again")
	}
}

package port

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestAReservedDeviceLeadsToItsPort follows the paths that a container gets before its pod is known.
func TestAReservedDeviceLeadsToItsPort(t *testing.T) {
	n := newMachine(t)
	o := n.order("one", "m-1")
	ctx := context.Background()
	n.do(func() error {
		r, err := n.Reserve(ctx, o.Port)
		if err != nil {
			return err
		}
		if text, err := os.ReadFile(r.File); err != nil || strings.Contains(string(text), "m-1") {
			t.Errorf("before it is taken there is %s, %v", text, err)
		}
		if _, err := n.Take(ctx, o); err != nil {
			return err
		}
		for range 2 {
			if err := n.Lead(ctx, o.Port, o.Pod.UID); err != nil {
				return err
			}
		}
		if text, err := os.ReadFile(r.File); err != nil || !strings.Contains(string(text), `"port": "m-1"`) {
			t.Errorf("once it is taken there is %s, %v", text, err)
		}
		// The runtime has mounted it; the next container of that name starts from nothing.
		if _, err := n.Reserve(ctx, o.Port); err != nil {
			return err
		}
		if text, err := os.ReadFile(r.File); err != nil || strings.Contains(string(text), "m-1") {
			t.Errorf("reserved again there is %s, %v", text, err)
		}
		err = errors.Join(n.GiveBack(ctx, "one"), n.Forget(ctx, "m-1"), n.Forget(ctx, "m-1"), n.Forget(ctx, "../../m-1"))
		if _, seen := n.Show(ctx, o.Pod.UID); seen != nil {
			err = errors.Join(err, seen)
		}
		return err
	})
	n.empty()
}

// TestAPodSeesItsOwnPorts: each of two pods has a file, which is removed with its last port.
func TestAPodSeesItsOwnPorts(t *testing.T) {
	n := newMachine(t)
	ctx := context.Background()
	n.do(func() error {
		for holder, name := range map[string]string{"one": "m-1", "two": "m-2"} {
			if _, err := n.Take(ctx, n.order(holder, name)); err != nil {
				return err
			}
		}
		path, err := n.Show(ctx, "one")
		if err != nil || path != filepath.Join(n.Folder, ".pods", "one.json") {
			t.Errorf("it is at %s, %v", path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "m-1") || strings.Contains(string(text), "m-2") {
			t.Errorf("one sees %s, %v", text, err)
		}
		if nowhere, err := n.Show(ctx, ""); nowhere != "" || err != nil {
			t.Errorf("what is of no pod is at %q, %v", nowhere, err)
		}
		if err := errors.Join(n.GiveBack(ctx, "one"), n.GiveBack(ctx, "two")); err != nil {
			return err
		}
		if gone, err := n.Show(ctx, "one"); gone != "" || err != nil {
			t.Errorf("without ports it is at %q, %v", gone, err)
		}
		return nil
	})
	n.empty()
}

// TestTheListOfAKilledCallIsSwept: a call gave a pod's last port back, and was killed before it removed the list.
func TestTheListOfAKilledCallIsSwept(t *testing.T) {
	labtest.Guarantee(t)
	n := newMachine(t)
	ctx := context.Background()
	n.do(func() error {
		for holder, name := range map[string]string{"one": "m-1", "two": "m-2"} {
			if _, err := n.Take(ctx, n.order(holder, name)); err != nil {
				return err
			}
			if _, err := n.Show(ctx, holder); err != nil {
				return err
			}
		}
		if err := errors.Join(n.GiveBack(ctx, "one"), n.Sweep(ctx)); err != nil {
			return err
		}
		for pod, want := range map[string]bool{"one": false, "two": true} {
			if _, err := os.Stat(filepath.Join(n.Folder, ".pods", pod+".json")); (err == nil) != want {
				t.Errorf("pod %s has a list: %v, want %v", pod, err == nil, want)
			}
		}
		return errors.Join(n.GiveBack(ctx, "two"), n.Sweep(ctx))
	})
	n.empty()
}

package killed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// polling is nines kbp, with fault points, for one of two network namespaces:
//
//	kbp-near ── a ═══════ b ── kbp-far, which it polls in
type polling struct {
	t           *testing.T
	nines, root string
	near, far   *netns.Namespace
	start, stop []string
	kept        map[string]string // settings before
}

// newPolling skips the test on a kernel that cannot poll by io_uring.
func newPolling(t *testing.T) *polling {
	t.Helper()
	labtest.Experiment(t)
	labtest.WholeHost(t) // it checks that the settings are unchanged
	_, _, err := busypoll.Choose(busypoll.Probe(), spec.PollIOUring)
	labtest.Require(t, fmt.Sprintf("polling by io_uring (%v)", err), err == nil)
	k := &polling{t: t, nines: labtest.Nines(t, "faultpoint"), root: filepath.Join(t.TempDir(), "state")}
	k.near, k.far = namespace(t, "kbp-near"), namespace(t, "kbp-far")
	labtest.Sh(t, "ip", "-n", "kbp-near", "link", "add", "name", "a", "type", "veth", "peer", "name", "b", "netns", "kbp-far")
	labtest.Sh(t, "ip", "-n", "kbp-near", "link", "set", "dev", "a", "up")
	labtest.Sh(t, "ip", "-n", "kbp-far", "link", "set", "dev", "b", "up")
	k.start = []string{"start", "--netns", k.far.Path(), "--cpu", "0", "--name", "web", "--mechanism", "io_uring"}
	k.stop = []string{"stop", "web"}
	k.kept = k.settings()
	return k
}

// namespace makes a network namespace with a name, and removes it with the test.
func namespace(t *testing.T, name string) *netns.Namespace {
	t.Helper()
	labtest.Sh(t, "ip", "netns", "add", name)
	t.Cleanup(func() { labtest.Sh(t, "ip", "netns", "del", name) })
	opened, err := netns.Open(filepath.Join(netns.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// settings are those of both ends that receive modes change, and all features of the devices.
func (k *polling) settings() map[string]string {
	k.t.Helper()
	all := map[string]string{}
	for device, ns := range map[string]*netns.Namespace{"a": k.near, "b": k.far} {
		err := ns.Do(func() error {
			for _, s := range []napi.Setting{napi.Attribute("threaded"), napi.Attribute("napi_defer_hard_irqs"), napi.Attribute("gro_flush_timeout")} {
				if value, err := s.Read(device); err == nil {
					all[device+" "+string(s)] = value
				}
			}
			socket, err := ethtool.Open()
			if err != nil {
				return err
			}
			defer socket.Close()
			features, err := socket.ByName(device)
			for name, f := range features {
				all[device+" "+name] = fmt.Sprint(f.Requested)
			}
			return err
		})
		if err != nil {
			k.t.Fatal(err)
		}
	}
	return all
}

// try runs it, under another program if there is one, and returns its exit code, -1 if it was killed, and what it said.
func (k *polling) try(environment, under []string, arguments ...string) (code int, said string) {
	k.t.Helper()
	line := slices.Concat(under, []string{k.nines, "kbp"}, arguments)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "NINES_STATE_DIR="+k.root)
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		k.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// run runs it with a fault at the point, or none if that is 0.
func (k *polling) run(at int, arguments ...string) {
	k.t.Helper()
	code, said := k.try([]string{fmt.Sprintf("NINES_FAULT_AT=%d", at)}, nil, arguments...)
	if code > 0 && !strings.Contains(said, busypoll.ErrNoSession.Error()) {
		k.t.Fatalf("kbp %q, fault %d: %d: %s", arguments, at, code, said)
	}
}

// clean fails the test if anything of the session is left.
func (k *polling) clean(what string) {
	k.t.Helper()
	if now := k.settings(); !maps.Equal(k.kept, now) {
		k.t.Errorf("%s: settings before %v\nafter %v", what, k.kept, now)
	}
	if err := proc.Each(func(id proc.Identity) error {
		left, err := id.HasArguments("--netns", k.far.Path())
		if left {
			k.t.Errorf("%s: process %d (%s) is left", what, id.PID, id.Command())
		}
		return err
	}); err != nil {
		k.t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(k.root, "kbp", "web")); err == nil {
		k.t.Errorf("%s: left %v", what, left)
	}
	if k.t.Failed() {
		k.t.FailNow()
	}
}

// TestPollingKilledAtAnyPoint kills nines at each of its fault points, first during start, then during stop; a stop must
// restore everything.
func TestPollingKilledAtAnyPoint(t *testing.T) {
	labtest.Guarantee(t)
	k := newPolling(t)
	// Each point in the long form, otherwise one for each kind of step.
	points := func(arguments []string) []int {
		return labtest.Kills(labtest.PassedPoints(t, func() { k.run(0, arguments...) }), map[string]bool{})
	}
	atStart := points(k.start)
	atStop := points(k.stop)
	k.clean("a stop")
	for _, at := range atStart {
		k.run(at, k.start...)
		k.run(0, k.stop...)
		k.clean(fmt.Sprintf("killed at %d of start", at))
	}
	for _, at := range atStop {
		k.run(0, k.start...)
		k.run(at, k.stop...)
		k.run(0, k.stop...)
		k.clean(fmt.Sprintf("killed at %d of stop", at))
	}
}

// TestStopOfPollingGoesOnAfterErrors: what start has changed comes back, though steps of stop fail.
func TestStopOfPollingGoesOnAfterErrors(t *testing.T) {
	labtest.Guarantee(t)
	k := newPolling(t)
	labtest.UndoErrors(t, labtest.Undone{
		Make: func() { k.run(0, k.start...) },
		Undo: func(environment, under []string) (int, string) { return k.try(environment, under, k.stop...) },
		Gone: k.clean, Steps: 2,
	})
}

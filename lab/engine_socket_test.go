package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// attackedLab is two nodes of a runtime whose engines reflect, with the program attack in them. more are keys of both.
//
//	a:x ──veth── b:x
func attackedLab(t testing.TB, name, runtime, more string) string {
	t.Helper()
	keys := fmt.Sprintf("%s, app: {kind: reflect, backend: raw}, mounts: [{source: %q, target: /attack, read_only: true}]",
		keysOf(t, runtime), labtest.Attack(t))
	if more != "" {
		keys += ", " + more
	}
	return fmt.Sprintf(`
name: %s
topology:
  nodes:
    a: {%s}
    b: {%[2]s}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`, name, keys)
}

// foundBy are the faults of a lab as nines check tells them.
func foundBy(t testing.TB, lab *Lab) string {
	t.Helper()
	parts, err := lab.Check()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, part := range parts {
		if part.Problem != "" {
			list = append(list, part.Part+": "+part.Problem)
		}
	}
	return strings.Join(list, "\n")
}

// TestAContainerStopsNoEngine: neither that of another node, nor its own.
func TestAContainerStopsNoEngine(t *testing.T) {
	for _, runtime := range []string{"lxc", "oci-runc"} {
		t.Run(runtime, func(t *testing.T) {
			labtest.Root(t)
			needRuntime(t, runtime)
			lab := up(t, attackedLab(t, "tbstop"+runtime, runtime, ""))
			if said := in(t, lab, "a", "/attack", "sockets"); strings.Contains(said, `"reply"`) {
				t.Errorf("an engine answers a container:\n%s", said)
			}
			if found := foundBy(t, lab); found != "" {
				t.Error(found)
			}
		})
	}
}

// TestAnEngineAnswersOnlyTheHost: a netns node sees the host's files, and so the socket.
func TestAnEngineAnswersOnlyTheHost(t *testing.T) {
	labtest.Root(t)
	lab := up(t, walledLab(t, "tbonlyhost", "netns"))
	attack := labtest.Attack(t)
	said := in(t, lab, "a", attack, "socket", lab.EngineSocket("a"))
	if !strings.Contains(said, `"errno":"EPERM"`) {
		t.Errorf("the engine says to its own node: %s", said)
	}
	if found := foundBy(t, lab); found != "" {
		t.Error(found)
	}
}

// TestAnEngineThatServesNothingIsFoundAndMended: it runs, and so looks as planned from outside.
func TestAnEngineThatServesNothingIsFoundAndMended(t *testing.T) {
	labtest.Root(t)
	text := walledLab(t, "tbidle", "netns")
	lab := up(t, text)
	c, err := client.Dial(context.Background(), lab.EngineSocket("a"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Stop()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = "the engine of node a serves nothing: it was told to stop"
	if found := foundBy(t, lab); found != "node a: "+want {
		t.Errorf("the check finds %q", found)
	}
	if faults := statusOf(lab.Name()).Faults; len(faults) != 1 || faults[0] != want {
		t.Errorf("the list of labs has %q", faults)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil || len(changes.RestartedApps) != 1 {
		t.Fatalf("Apply = %+v, %v, want that the engine is restarted", changes, err)
	}
	if found := foundBy(t, lab); found != "" {
		t.Errorf("after Apply: %s", found)
	}
}

// TestALabWithItsSocketsInOneFolder: those that nines made before have that form. The engines are found, and
// Down removes all.
func TestALabWithItsSocketsInOneFolder(t *testing.T) {
	labtest.Root(t)
	lab := up(t, walledLab(t, "tboldsockets", "netns"))
	for _, name := range []string{"a", "b"} {
		now := lab.State().EngineSocket(name)
		if err := os.Rename(now, node.OldEngineSocket(lab.State().Dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Dir(now)); err != nil {
			t.Fatal(err)
		}
	}
	if found := foundBy(t, lab); found != "" {
		t.Errorf("the check finds %q", found)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lab.State().Dir); !os.IsNotExist(err) {
		t.Errorf("the lab's folder is still there: %v", err)
	}
}

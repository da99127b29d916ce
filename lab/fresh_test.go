package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// The node in which something else runs, on every kind of link that a kernel without modules has:
//
//	load:tx ──in, veth── dut:in      dut:out ──out, bridge── far:rx
//	load:x1 ──xdp── dut:x1           far:mac ──macvlan── dut:mac
const freshLab = `
name: tbfresh
topology:
  nodes:
    load: {}
    dut: {NODE, sysctls: {net.ipv4.ip_default_ttl: "65", kernel.msgmax: "9000"}}
    far: {}
  links:
    - {name: in, kind: veth, endpoints: ["load:tx", "dut:in"]}
    - {name: out, kind: bridge, endpoints: ["dut:out", "far:rx"]}
    - {name: x1, kind: xdp, endpoints: ["dut:x1", "load:x1"]}
    - {name: mac, kind: macvlan, endpoints: ["dut:mac", "far:mac"]}
`

// TestAnotherPayloadKeepsTheNetwork: apply ends what runs in the node and starts something else, one after
// the other, and nobody around it notices; a container begins with the files of its image.
func TestAnotherPayloadKeepsTheNetwork(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedOCIDriver(t, "runc")
	ctx := context.Background()
	first, second := labs.OCIImage(t, v1.Config{}), labs.OCIImage(t, v1.Config{Env: []string{"SHAPE=round"}})
	payloads := []string{
		"runtime: netns, memory: 256MiB",
		"runtime: netns, memory: 128MiB",
		"runtime: lxc, memory: 128MiB",
		"runtime: lxc, memory: 256MiB, privileged: true",
		"runtime: oci, memory: 256MiB, init: nines, image: \"" + first + "\"",
		"runtime: oci, memory: 256MiB, init: nines, image: \"" + second + "\"",
		"runtime: oci, memory: 256MiB, image: \"" + second + "\", command: [sleep, \"100000\"]",
		"runtime: lxc, memory: 256MiB, image: \"" + second + "\"",
		"runtime: netns, memory: 256MiB",
	}
	if labtest.Long() {
		for _, driver := range labs.OCIManagers {
			labs.NeedOCIDriver(t, driver)
			payloads = append(payloads, "runtime: oci, memory: 256MiB, init: nines, driver: "+driver+", image: \""+first+"\"")
		}
	}
	lab := up(t, strings.Replace(freshLab, "NODE", payloads[0], 1))
	before := map[string]string{}
	for _, n := range lab.Plan().Nodes {
		before[n.Name] = network(t, lab, n.Name)
	}
	changes, others := carriers(t, lab, "load")+carriers(t, lab, "far"), []int{lab.PID("load"), lab.PID("far")}
	capture, err := capture.Open(lab.Lab, capture.Point{Node: "dut", Interface: "in"})
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	for _, payload := range payloads[1:] {
		own := lab.Plan().Node("dut").Runtime.Descriptor().OwnRoot
		if own {
			in(t, lab, "dut", "touch", "/tmp/kept")
		}
		pid := lab.PID("dut")
		text := strings.Replace(freshLab, "NODE", payload, 1)
		got, err := lab.Apply(ctx, ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		if !slices.Equal(got.FreshNodes, []string{"dut"}) || len(got.ReplacedNodes)+len(got.ReplacedLinks)+len(got.AddedEndpoints)+len(got.Reconfigured) > 0 {
			t.Errorf("%s: apply changed %+v", payload, got)
		}
		if now := lab.PID("dut"); now == pid || now == 0 {
			t.Errorf("%s: the first process was %d and is %d", payload, pid, now)
		}
		again, err := Open(lab.Name())
		if err != nil {
			t.Fatal(err)
		}
		for name, was := range before {
			if is := network(t, again, name); is != was {
				t.Errorf("%s: the network of %s was\n%s\nand is\n%s", payload, name, was, is)
			}
		}
		if now := carriers(t, again, "load") + carriers(t, again, "far"); now != changes {
			t.Errorf("%s: the carriers of the other ends had changed %s\nand now %s", payload, changes, now)
		}
		if !slices.Equal(others, []int{again.PID("load"), again.PID("far")}) {
			t.Errorf("%s: another node was restarted, too", payload)
		}
		if bad := problems(t, again); len(bad) > 0 {
			t.Errorf("%s: %v", payload, bad)
		}
		if again.Plan().Node("dut").Runtime.Descriptor().OwnRoot {
			in(t, again, "dut", "test", "!", "-e", "/tmp/kept")
		}
		if got := in(t, again, "dut", "cat", "/proc/sys/net/ipv4/ip_default_ttl", "/proc/sys/kernel/msgmax"); got != "65\n9000" {
			t.Errorf("%s: its sysctls are %q", payload, got)
		}
		limited(t, again, "dut")
		for _, i := range again.Plan().Node("load").Interfaces {
			in(t, again, "load", "ping", "-c1", "-W5", "-I", i.Name, i.Neighbours[0].IP)
		}
		if frames, err := captured(capture); err != nil || frames == 0 {
			t.Errorf("%s: a capture that goes on has %d frames of it, %v", payload, frames, err)
		}
		if changes, err := again.Changes(labs.Plan(t, text), nil); err != nil || !changes.Empty() {
			t.Errorf("%s: to apply it again would change %+v, %v", payload, changes, err)
		}
	}
	downWithoutTrace(t, lab)
}

// TestAnotherPayloadStartsAStoppedNode, as a change that rebuilds it does.
func TestAnotherPayloadStartsAStoppedNode(t *testing.T) {
	labtest.Root(t)
	const text = "name: tbfreshoff\ntopology: {nodes: {a: {}, b: {}}, links: [{endpoints: [\"a:x\", \"b:x\"]}]}\n"
	lab, ctx := up(t, text), context.Background()
	if err := lab.Stop(ctx, []string{"b"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	before := network(t, lab, "b")
	other := strings.Replace(text, "b: {}", "b: {memory: 64MiB}", 1)
	got, err := lab.Apply(ctx, ApplyOptions{Plan: labs.Plan(t, other), Experiment: []byte(other)})
	if err != nil || !slices.Equal(got.FreshNodes, []string{"b"}) {
		t.Fatalf("apply changed %+v, %v", got, err)
	}
	again, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !again.Alive("b") || again.Running("b").Marks != (node.Marks{}) || network(t, again, "b") != before {
		t.Errorf("b runs: %v, and it is marked %+v", again.Alive("b"), again.Running("b").Marks)
	}
}

// TestARestartAfreshTakesTheImageAsItIs: a restart keeps the node's files and image, also when the image's
// name means another, which apply tells; one afresh takes the image that the name means, and keeps nothing.
// A start that was cut off when it had begun to remove the files recreates all of them.
func TestARestartAfreshTakesTheImageAsItIs(t *testing.T) {
	for runtime, keys := range map[string]string{"lxc": "runtime: lxc", "oci": "runtime: oci, driver: runc, init: nines"} {
		t.Run(runtime, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedLXC(t)
			labs.NeedOCIDriver(t, "runc")
			ctx := context.Background()
			name, next := labs.OCIImage(t, v1.Config{}), labs.OCIImage(t, v1.Config{Env: []string{"SHAPE=round"}})
			layout := strings.TrimPrefix(name, "oci:")
			text := "name: tbafresh" + runtime + "\ntopology: {nodes: {a: {}, b: {" + keys + ", image: \"" + name + "\"}}, links: [{endpoints: [\"a:x\", \"b:x\"]}]}\n"
			lab := up(t, text)
			digest := func() string {
				t.Helper()
				images, err := lab.Images()
				if err != nil || len(images) != 1 {
					t.Fatalf("the images are %v, %v", images, err)
				}
				return images[0].Digest
			}
			outdated := func() []string {
				t.Helper()
				changes, err := lab.Changes(lab.Plan(), nil)
				if err != nil || !changes.Empty() {
					t.Fatalf("apply would change %+v, %v", changes, err)
				}
				return changes.Outdated
			}
			is := func(what, image, files string) {
				t.Helper()
				if now := digest(); now != image {
					t.Errorf("%s: it is of the image %s, not %s", what, now, image)
				}
				if now := in(t, lab, "b", "sh", "-c", "test -e /srv/kept && echo kept || echo new"); now != files {
					t.Errorf("%s: its files are %s, not %s", what, now, files)
				}
			}
			restart := func(fresh bool) {
				t.Helper()
				if err := lab.Restart(ctx, []string{"b"}, RestartOptions{Fresh: fresh}); err != nil {
					t.Fatal(err)
				}
			}
			in(t, lab, "b", "touch", "/srv/kept")
			old, before := digest(), network(t, lab, "a")+network(t, lab, "b")
			if list := outdated(); len(list) > 0 {
				t.Errorf("at first, outdated are %q", list)
			}
			if err := os.RemoveAll(layout); err != nil {
				t.Fatal(err)
			}
			if list := outdated(); len(list) > 0 {
				t.Errorf("without the image, outdated are %q", list)
			}
			pid := lab.PID("b")
			if err := lab.Restart(ctx, []string{"b"}, RestartOptions{Fresh: true}); exit.Code(err) != exit.Wrong || lab.PID("b") != pid || !lab.Alive("b") {
				t.Errorf("afresh without an image: %v; process %d is %d", err, pid, lab.PID("b"))
			}
			if err := os.Rename(strings.TrimPrefix(next, "oci:"), layout); err != nil {
				t.Fatal(err)
			}
			if list := outdated(); !slices.Equal(list, []string{"b"}) {
				t.Errorf("with another image, outdated are %q", list)
			}
			restart(false)
			is("after a restart", old, "kept")
			restart(true)
			image := digest()
			if image == old {
				t.Error("afresh, it is of the same image")
			}
			is("afresh", image, "new")
			if list := outdated(); len(list) > 0 {
				t.Errorf("afresh, outdated are %q", list)
			}

			in(t, lab, "b", "touch", "/srv/kept")
			j, free, err := lab.lockNodes()
			if err != nil {
				t.Fatal(err)
			}
			err = node.Mark(j, map[string]node.Marks{"b": {Unfinished: true, Fresh: true}})
			for _, folder := range []string{"lxc/" + lab.Plan().Node("b").HostName, "nodes/b"} {
				if removed := os.RemoveAll(filepath.Join(lab.State().Dir, folder)); err == nil {
					err = removed
				}
			}
			if freed := free(); err != nil || freed != nil {
				t.Fatal(err, freed)
			}
			restart(false)
			is("after one that was cut off", image, "new")
			if marks := lab.Running("b").Marks; marks != (node.Marks{}) {
				t.Errorf("in the end it is marked %+v", marks)
			}
			if now := network(t, lab, "a") + network(t, lab, "b"); now != before {
				t.Errorf("the networks were\n%s\nand are\n%s", before, now)
			}
			if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
				t.Errorf("in the end: %v, %v", faults, err)
			}
			downWithoutTrace(t, lab)
		})
	}
}

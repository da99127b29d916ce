package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/graph"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// A link kind that only this file has: a hub, which sends each frame to all other ends. It is a
// bridge in the fabric that forgets addresses at once.
//
//	n1 ─ eth ── veth ── FABRIC_DEVICE ─┐
//	n2 ─ eth ── veth ── FABRIC_DEVICE ─┤ bridge, ageing 0
//	n3 ─ eth ── veth ── FABRIC_DEVICE ─┘
func init() {
	spec.RegisterLink(spec.LinkDescriptor{
		Kind: "hub", Doc: "a bridge that learns nothing", Between: "the kernel's bridge",
		End: spec.EndVeth, InFabric: true, Device: "hub", MostEndpoints: 3, MostMTU: 4000,
		Needs: []string{"veth", "bridge"}, Colour: "#123456",
	})
	link.Register("hub", link.Kind{Make: makeHub})
}

func makeHub(_ context.Context, s *link.Site, l plan.Link, endpoints []plan.Endpoint) error {
	fabric, err := netns.OfProcess(s.Fabric.PID)
	if err != nil {
		return err
	}
	defer fabric.Close()
	handle, err := fabric.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	add := func(nodeName string, device netlink.Link) error {
		step := journal.Step{Kind: link.KindLink, Name: device.Attrs().Name, Link: l.Name, Node: nodeName, Holder: s.Fabric.Step}
		return errors.Join(s.Journal.Make(step, func() (journal.Learnt, error) {
			err := handle.LinkAdd(device)
			return journal.Learnt{Index: device.Attrs().Index}, err
		}), handle.LinkSetUp(device))
	}
	ageing := uint32(0)
	hub := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: l.Device, MTU: l.MTU}, AgeingTime: &ageing}
	if err := add("", hub); err != nil {
		return err
	}
	for _, e := range endpoints {
		inside, err := netns.OfProcess(s.Nodes[e.Node].PID)
		if err != nil {
			return err
		}
		defer inside.Close()
		mac, err := net.ParseMAC(s.Plan.Interface(e).MAC)
		if err != nil {
			return err
		}
		if err := add(e.Node, &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: e.FabricDevice, MTU: l.MTU, MasterIndex: hub.Index},
			PeerName:  e.Interface, PeerMTU: uint32(l.MTU), PeerHardwareAddr: mac, PeerNamespace: netlink.NsFd(inside.FD()),
		}); err != nil {
			return err
		}
	}
	return nil
}

// TestAnAddedLinkKind: a descriptor and a make function are enough for a kind to work in the file's
// rules, the schema, plans, drawings, dry runs and labs.
func TestAnAddedLinkKind(t *testing.T) {
	text := labs.Star("hub", 3, 1500)
	for _, wrong := range []struct{ file, want string }{
		{labs.Star("hub", 4, 1500), "4 endpoints on one hub link"},
		{labs.Star("hub", 3, 4001), "more than a hub link carries"},
		{strings.Replace(text, "kind: hub", "kind: hub, parent: eth0", 1), "a hub link has no parent"},
		{strings.Replace(text, "kind: hub", "kind: hub, switch: {cpus: 1}", 1), "a hub link has no program"},
		{strings.Replace(text, "n1: {runtime: netns}", "n1: {runtime: vm}", 1), "which cannot join a hub link"},
	} {
		file, err := spec.Load("test.yaml", []byte(wrong.file))
		if err == nil {
			_, err = file.Experiment()
		}
		if err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("the error is %v, and not %q", err, wrong.want)
		}
	}
	schema, err := spec.Schema()
	if err != nil || !bytes.Contains(schema, []byte(`"hub"`)) || !bytes.Contains(schema, []byte("hub: a bridge that learns nothing")) {
		t.Errorf("the schema does not know it: %v", err)
	}

	p := labs.Plan(t, text)
	lan := p.Links[0]
	if lan.Device == "" || lan.Endpoints[0].FabricDevice == "" {
		t.Errorf("the plan names no devices of the fabric: %+v", lan)
	}
	if steps := strings.Join(dryrun.Steps(p), "\n"); !strings.Contains(steps, "link lan: hub "+lan.Device+" in the fabric\n") {
		t.Errorf("the dry run is\n%s", steps)
	}
	var svg, dot bytes.Buffer
	if err := cmp.Or(graph.SVG(&svg, p), graph.Dot(&dot, p)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(svg.String(), `fill="#123456"`) || !strings.Contains(dot.String(), `lan\nhub`) {
		t.Errorf("the drawings are\n%s\n%s", &svg, &dot)
	}

	labtest.Root(t)
	lab := up(t, text)
	everyPing(t, lab, 1500)
	seen, err := lab.Inspect(context.Background())
	if err != nil || len(seen.LinkList[0].Devices) != 4 {
		t.Fatalf("inspect shows %+v, %v", seen, err)
	}
	// Each node sent 8 frames, requests and answers to two others, and all nodes saw them.
	for _, n := range seen.NodeList {
		if got := n.Interfaces[0].RxPackets; got < 16 {
			t.Errorf("%s got %d frames of the others' 16", n.Name, got)
		}
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

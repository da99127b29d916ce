package lab

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/test/labtest"
)

// TestEndsOppositeToAnXDPProgramTakeItsFrames, as long as it is there: over a pair and over a bridge, for a native program,
// and not for a generic one, or that of AF_XDP sockets.
func TestEndsOppositeToAnXDPProgramTakeItsFrames(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `name: tbredirects
topology:
  nodes:
    a:
    dut:
      app: {kind: device, leaves: forwarded}
    b:
  links:
    - {name: in, endpoints: ["a:x", "dut:in"]}
    - {name: out, kind: bridge, endpoints: ["dut:out", "b:x"]}
    - {name: aside, endpoints: ["a:y", "b:y"]}
`)
	_, out := lab.Index().EndOf("dut", "out")
	opposite := []string{":" + out.FabricDevice, "a:x"}
	sockets, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.Close()
	const pass = 2 // XDP_PASS
	plain := xdpProgram(t, asm.Mov.Imm(asm.R0, pass), asm.Return())
	toSockets := xdpProgram(t, asm.LoadMapPtr(asm.R1, sockets.FD()), asm.Mov.Imm(asm.R2, 0), asm.Mov.Imm(asm.R3, pass), asm.FnRedirectMap.Call(), asm.Return())
	for _, step := range []struct {
		name    string
		program *ebpf.Program // nil: none
		flags   int
		want    []string
	}{
		{"none yet", nil, unix.XDP_FLAGS_DRV_MODE, nil},
		{"generic", plain, unix.XDP_FLAGS_SKB_MODE, nil},
		{"no longer generic", nil, unix.XDP_FLAGS_SKB_MODE, nil},
		{"of sockets", toSockets, unix.XDP_FLAGS_DRV_MODE, nil},
		{"native", plain, unix.XDP_FLAGS_DRV_MODE, opposite},
		{"native still", plain, unix.XDP_FLAGS_DRV_MODE, opposite},
		{"no longer", nil, unix.XDP_FLAGS_DRV_MODE, nil},
	} {
		attachXDP(t, lab, step.program, step.flags)
		if _, err := lab.TakeRedirects(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var on []string
		for _, s := range lab.Settings() {
			if s.Values["gro"] == "on" {
				on = append(on, s.Node+":"+s.Device)
			}
		}
		if slices.Sort(on); !slices.Equal(on, step.want) {
			t.Errorf("%s: GRO is on at %q, want %q", step.name, on, step.want)
		}
		seen, err := link.RedirectingOf(link.HolderOf(lab.Running("dut")), lab.Plan().Node("dut").Interfaces)
		if err != nil || step.want != nil && len(seen.Refusing) > 0 {
			t.Errorf("%s: %+v, %v", step.name, seen, err)
		}
	}
}

func xdpProgram(t *testing.T, instructions ...asm.Instruction) *ebpf.Program {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: instructions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program
}

// attachXDP puts a program at dut:in, in place of what is there.
func attachXDP(t *testing.T, lab *Lab, program *ebpf.Program, flags int) {
	t.Helper()
	ns, err := lab.Running("dut").Namespace()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	fd := -1
	if program != nil {
		fd = program.FD()
	}
	if err := ns.Do(func() error {
		device, err := netlink.LinkByName("in")
		if err != nil {
			return err
		}
		return netlink.LinkSetXdpFdWithFlags(device, fd, flags)
	}); err != nil {
		t.Fatal(err)
	}
}

package spec

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/test/golden"
)

const linksPath = "../docs/links.md"

// TestDescriptorsFitTogether: the parts of a descriptor do not contradict each other.
func TestDescriptorsFitTogether(t *testing.T) {
	colour := regexp.MustCompile(`^#[0-9a-f]{6}$`)
	for _, kind := range LinkKinds() {
		d := kind.Descriptor()
		p := d.Program
		for what, isWrong := range map[string]bool{
			"its words are missing":                          d.Doc == "" || d.Between == "" || d.End == "",
			"it has no colour for a drawing":                 !colour.MatchString(d.Colour),
			"a program is to be in the fabric":               p != nil && !d.InFabric,
			"a program is to say how it opens kernel ends":   p != nil && p.Opens == "",
			"vhost-user wants a program at the other end":    p == nil && (d.DPDK == DPDKVhost || d.Guest == GuestVhost),
			"without a kernel end only a socket can be met":  d.End == EndNone && d.DPDK == DPDKAtEnd,
			"hardware is no tap, and a tap is no hardware":   d.End.IsHardware() != (d.Guest == GuestFunction),
			"hardware has nothing in the fabric":             d.End.IsHardware() && (d.InFabric || d.Device != ""),
			"a pair has a bound of its own":                  d.Pair && d.MostEndpoints > 0,
			"only vhost-user ports are listened at":          p != nil && p.Listens && d.DPDK != DPDKVhost,
			"a parent is a device of the fabric by default":  takes("parent")(d) != (d.Device == "parent"),
			"functions of cards want their key of the file":  takes("sriov")(d) != (d.End == EndFunction),
			"a cluster's network is there without this host": d.Remote && (d.InFabric || d.Device != "" || p != nil || d.Claimed != (d.DPDK == DPDKClaimed) || !d.Claimed && d.DPDK != DPDKNone || d.Guest != GuestNone || d.End != EndPod),
			"a whole device wants the key that has its name": takes("passthrough")(d) != (d.End == EndDevice),
		} {
			if isWrong {
				t.Errorf("%s: %s", kind, what)
			}
		}
	}
}

// TestTheManualHasTheKinds: the tables of docs/links.md and docs/reference/experiment-file.md match the descriptors, and each
// kind has a section in the first.
func TestTheManualHasTheKinds(t *testing.T) {
	var table, short strings.Builder
	short.WriteString("| kind | endpoints | what it is |\n|---|---|---|\n")
	table.WriteString("| kind | endpoints | between them | polls | kernel endpoint | DPDK endpoint |\n|---|---|---|---|---|---|\n")
	for _, kind := range LinkKinds() {
		d := kind.Descriptor()
		fmt.Fprintf(&table, "| [`%s`](#%s) | %s | %s | %s | %s | %s |\n", kind, kind,
			endpointsText(d), d.Between, pollsText(d), kernelText(d), dpdkText(d))
		fmt.Fprintf(&short, "| `%s` | %s | %s |\n", kind, endpointsText(d), d.Doc)
		if !regexp.MustCompile("(?m)^## " + string(kind) + "$").Match(read(t, linksPath)) {
			t.Errorf("%s: no section for %s", linksPath, kind)
		}
	}
	golden.Part(t, linksPath, "kinds", table.String())
	golden.Part(t, documentPath, "link kinds", short.String())
}

func endpointsText(d *LinkDescriptor) string {
	switch {
	case d.Pair:
		return "2"
	case d.MostEndpoints > 0:
		return fmt.Sprintf("2 to %d", d.MostEndpoints)
	}
	return "2 or more"
}

func pollsText(d *LinkDescriptor) string {
	switch {
	case d.Program == nil:
		return "no"
	case d.Program.KernelDatapath != "":
		return "in userspace"
	}
	return "yes"
}

func kernelText(d *LinkDescriptor) string {
	if d.Program != nil {
		return string(d.End) + ", " + d.Program.Opens
	}
	return string(d.End)
}

func dpdkText(d *LinkDescriptor) string {
	switch {
	case d.DPDK != DPDKAtEnd:
		return string(d.DPDK)
	case d.End.IsHardware():
		return "the same, by vfio-pci or UIO"
	case d.Program != nil:
		return string(d.End)
	}
	return "the same device"
}

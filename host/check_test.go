package host

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

func load(t *testing.T, name string) *Inventory {
	t.Helper()
	if construct, ok := constructed[name]; ok {
		return construct() // the file may be about to be rewritten
	}
	data, err := os.ReadFile(hostFile(name))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// measuredLab is what a measured lab with all link kinds in LXC needs.
var measuredLab = Needs{
	Root: true,
	Features: []Need{
		{FeatureNetns, "node dut"}, {FeatureLXC, "node dut"},
		{FeatureVeth, "link in"}, {FeatureBridge, "link out"}, {FeatureXDPVeth, "link fast"}, {FeatureXDPVeth, "link faster"},
	},
	Controllers: []Need{{"cpuset", "node dut"}, {"memory", "node dut"}},
}

// TestCheck: each machine of testdata/hosts has exactly these findings.
func TestCheck(t *testing.T) {
	for name, want := range map[string][]string{
		"microvm": nil,
		"epyc-7551p": {
			"note bridge", "note veth", "note xdp_native_veth",
		},
		"xeon-e5-2640v4": {"error xdp_native_veth", "note bridge", "note veth"},
		"laptop-i7-1165g7": {
			"error root", "error lxc", "note bridge", "note veth", "note xdp_native_veth",
		},
	} {
		var got []string
		for _, f := range Check(load(t, name), measuredLab) {
			got = append(got, string(f.Severity)+" "+f.Capability)
			if strings.Contains(f.String(), "\n") {
				t.Errorf("%s: not one line: %q", name, f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
}

// TestCheckBareHost: Check names everything that a bare machine lacks, with its exit code
// and what works without it.
func TestCheckBareHost(t *testing.T) {
	inv := load(t, "microvm")
	inv.Cgroup = Cgroup{Mode: CgroupNone}
	inv.Features = []Feature{{Name: FeatureXDPVeth, State: StateNo, Detail: "needs Linux 4.19"}}
	findings := Check(inv, measuredLab)
	var got []string
	for _, f := range findings {
		got = append(got, string(f.Severity)+" "+f.Capability)
	}
	want := []string{"error xdp_native_veth", "error cgroup cpuset", "error cgroup memory"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	err := Missing(findings)
	var missing *exit.MissingError
	if !errors.As(err, &missing) || missing.ExitCode() != exit.Lacks {
		t.Fatalf("Missing gives %v", err)
	}
	if text := missing.Error(); text != "this host lacks xdp_native_veth: link fast and 1 other need it: needs Linux 4.19; "+
		"use Linux 4.19 or newer with CONFIG_VETH and CONFIG_BPF_SYSCALL; without it links of kind veth and bridge work" {
		t.Errorf("the first error is %q", text)
	}
	if Missing([]Finding{{Severity: SeverityWarning}, {Severity: SeverityNote}}) != nil {
		t.Error("warnings and notes are given as errors")
	}
}

package lab

import (
	"context"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestAddressesStandAsListed: an interface without any, one of IPv6 alone, and a node's own addresses.
func TestAddressesStandAsListed(t *testing.T) {
	labtest.Root(t)
	const text = `
name: tblisted
topology:
  nodes:
    a: {addresses: {none: [], six: ["fd00::1/64"], lo: [10.83.9.9/32, "fd09::9/128"]}, routes: [{to: 10.83.9.8/32, via: 10.83.1.2}, {to: "fd09::8/128", via: "fd00::2"}]}
    b: {runtime: lxc, addresses: {six: ["fd00::2/64"], four: [10.83.1.2/24], lo: [10.83.9.8/32, "fd09::8/128"]}}
  links:
    - {name: none, endpoints: ["a:none", "b:none"]}
    - {name: six, endpoints: ["a:six", "b:six"]}
    - {name: four, endpoints: ["a:four", "b:four"]}
`
	lab := up(t, text)
	addresses := func(of string) string {
		return strings.Join(strings.Fields(in(t, lab, "a", "sh", "-c", "ip -o address show "+of+" scope global | sed 's,.* inet6* ,,; s, .*,,'")), " ")
	}
	for of, want := range map[string]string{"none": "", "six": "fd00::1/64", "lo": "10.83.9.9/32 fd09::9/128", "four": "10.83.1.1/24"} {
		if got := addresses(of); got != want {
			t.Errorf("a:%s has %q, want %q", of, got, want)
		}
	}
	for _, address := range []string{"10.83.9.8", "fd09::8", "fd00::2"} {
		in(t, lab, "a", "ping", "-c1", "-W2", address)
	}
	if hosts := in(t, lab, "b", "cat", "/etc/hosts"); !strings.Contains(hosts, "10.83.9.9") {
		t.Errorf("b knows only %s", hosts)
	}
	faults := func() string {
		found, err := lab.Faults()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range found {
			all = append(all, f.Problem)
		}
		return strings.Join(all, "; ")
	}
	if found := faults(); found != "" {
		t.Errorf("as listed, check finds %s", found)
	}
	in(t, lab, "a", "ip", "address", "del", "10.83.9.9/32", "dev", "lo")
	if found := faults(); !strings.Contains(found, "node a has lost 10.83.9.9/32 of its loopback") {
		t.Errorf("without its own address, check finds %q", found)
	}
	other := strings.NewReplacer("10.83.9.9/32", "10.83.9.7/32", `six: ["fd00::1/64"]`, `six: ["fd00::1/64", 10.83.2.1/24]`).Replace(text)
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Change(t, lab.Plan(), other), Experiment: []byte(other)})
	if err != nil || !slices.Equal(changes.Adjusted, []string{"a"}) || !slices.Equal(changes.Reconfigured, []string{"a:six"}) {
		t.Errorf("the changes are %+v, %v", changes, err)
	}
	if got := addresses("lo"); got != "10.83.9.7/32 fd09::9/128" && got != "fd09::9/128 10.83.9.7/32" {
		t.Errorf("after another file lo has %q", got)
	}
}

// TestALinkLocalAddressGoesWithTheFile: apply removes one that the file listed, and leaves the kernel's own.
func TestALinkLocalAddressGoesWithTheFile(t *testing.T) {
	labtest.Root(t)
	const text = `
name: tblinklocal
topology:
  nodes:
    a: {addresses: {six: ["fd00:85::1/64", "fe80::99/64"]}, mac: {six: "02:00:00:85:00:01"}}
    b: {addresses: {six: ["fd00:85::2/64"]}}
  links:
    - {name: six, endpoints: ["a:six", "b:six"]}
`
	const own = "fe80::ff:fe85:1/64" // what the kernel makes of the MAC address
	lab := up(t, text)
	addresses := func() []string {
		fields := strings.Fields(in(t, lab, "a", "sh", "-c", "ip -o address show six scope link | sed 's,.* inet6 ,,; s, .*,,'"))
		slices.Sort(fields)
		return fields
	}
	if got := addresses(); !slices.Equal(got, []string{"fe80::99/64", own}) {
		t.Fatalf("the link-local addresses are %v", got)
	}
	apply := func(text string) {
		t.Helper()
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Change(t, lab.Plan(), text), Experiment: []byte(text)})
		if err != nil || !slices.Equal(changes.Reconfigured, []string{"a:six", "b:six"}) && !slices.Equal(changes.Reconfigured, []string{"a:six"}) {
			t.Fatalf("the changes are %+v, %v", changes, err)
		}
	}
	apply(strings.Replace(text, `, "fe80::99/64"`, "", 1))
	if got := addresses(); !slices.Equal(got, []string{own}) {
		t.Errorf("after a file without it the addresses are %v", got)
	}
	apply(strings.Replace(text, "fe80::99/64", own, 1))
	apply(strings.Replace(text, `, "fe80::99/64"`, "", 1))
	if got := addresses(); !slices.Equal(got, []string{own}) {
		t.Errorf("after the kernel's own was listed and no longer is, the addresses are %v", got)
	}
}

package lab

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestVendorsNamesAreAliases: an interface that the file calls Ethernet1/1 is the kernel's Ethernet1-1, and has the file's
// name as its alias, until a file calls it otherwise.
//
//	a (netns) Ethernet1/1 ── bridge ── ge-0/0/0 b (lxc)
func TestVendorsNamesAreAliases(t *testing.T) {
	labtest.Root(t)
	const text = `
name: tbvendors
topology:
  nodes:
    a: {addresses: {Ethernet1/1: [10.84.1.1/24]}, mac: {Ethernet1/1: "02:00:00:84:00:01"}, routes: [{to: 10.84.2.0/24, interface: Ethernet1/1}]}
    b: {runtime: lxc, addresses: {ge-0/0/0: [10.84.1.2/24]}}
  links:
    - {name: wire, kind: bridge, endpoints: ["a:Ethernet1/1", "b:ge-0/0/0"]}
`
	lab := up(t, text)
	alias := func(node, name string) string {
		var links []struct {
			Address string `json:"address"`
			Alias   string `json:"ifalias"`
		}
		if err := json.Unmarshal([]byte(in(t, lab, node, "ip", "-j", "link", "show", "dev", name)), &links); err != nil || len(links) != 1 {
			t.Fatalf("%s:%s: %v, %v", node, name, links, err)
		}
		if node == "a" && links[0].Address != "02:00:00:84:00:01" {
			t.Errorf("%s:%s has the MAC address %s", node, name, links[0].Address)
		}
		return links[0].Alias
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
	if a, b := alias("a", "Ethernet1-1"), alias("b", "ge-0-0-0"); a != "Ethernet1/1" || b != "ge-0/0/0" {
		t.Errorf("the aliases are %q and %q", a, b)
	}
	if routes := in(t, lab, "a", "ip", "route"); !strings.Contains(routes, "10.84.2.0/24 dev Ethernet1-1") {
		t.Errorf("the routes are\n%s", routes)
	}
	in(t, lab, "a", "ping", "-c1", "-W2", "10.84.1.2")
	if found := faults(); found != "" {
		t.Errorf("as listed, check finds %s", found)
	}

	in(t, lab, "a", "ip", "link", "set", "Ethernet1-1", "alias", "")
	if found := faults(); found != "interface a:Ethernet1-1 has lost its alias Ethernet1/1, the file's name" {
		t.Errorf("without the alias, check finds %q", found)
	}
	apply := func(text string) {
		t.Helper()
		if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Change(t, lab.Plan(), text), Experiment: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	apply(text)
	if got := alias("a", "Ethernet1-1"); got != "Ethernet1/1" {
		t.Errorf("mended, the alias is %q", got)
	}
	apply(strings.ReplaceAll(text, "Ethernet1/1", "Ethernet1-1"))
	if got := alias("a", "Ethernet1-1"); got != "" {
		t.Errorf("of a file without the name, the alias is %q", got)
	}
	if found := faults(); found != "" {
		t.Errorf("without the name in the file, check finds %s", found)
	}
}

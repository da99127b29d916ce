package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// star is a hub with leaves, each on its own link, and one node without links.
func star(leaves int) *plan.Plan {
	p := &plan.Plan{Name: "a <star>", Traffic: &plan.Traffic{From: plan.Port{Node: "hub"}, Path: []string{"hub:e0", "leaf0:up"}}}
	hub := plan.Node{Name: "hub"}
	for i := range leaves {
		leaf, link, port := fmt.Sprintf("leaf%d", i), fmt.Sprintf("l%d", i), fmt.Sprintf("e%d", i)
		hub.Interfaces = append(hub.Interfaces, plan.Interface{Name: port, Link: link, Addresses: []string{"198.18.0.1/30"}})
		p.Nodes = append(p.Nodes, plan.Node{Name: leaf, Interfaces: []plan.Interface{{Name: "up", Link: link}}})
		p.Links = append(p.Links, plan.Link{Name: link, Kind: spec.LinkVeth, Endpoints: []plan.Endpoint{{Node: "hub", Interface: port}, {Node: leaf, Interface: "up"}}})
	}
	p.Nodes = append(p.Nodes, hub, plan.Node{Name: "alone"})
	return p
}

func TestNothingOverlapsOrLeavesThePicture(t *testing.T) {
	for _, leaves := range []int{0, 1, 5, 60} {
		vertices, width, height := lay(star(leaves))
		for i, a := range vertices {
			if a.x < 0 || a.y < 0 || a.x+a.width > width || a.y+a.height > height {
				t.Errorf("%d leaves: vertex %d is outside the picture", leaves, i)
			}
			for _, b := range vertices[:i] {
				if a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+b.height && b.y < a.y+a.height {
					t.Errorf("%d leaves: vertex %d lies on another", leaves, i)
				}
			}
		}
	}
}

func TestSVGIsWellFormedAndShowsThePath(t *testing.T) {
	var b bytes.Buffer
	if err := SVG(&b, star(3)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `class="edge`); n != 6 {
		t.Errorf("%d edges, not one for each of 6 endpoints", n)
	}
	if n := strings.Count(b.String(), `class="edge traffic"`); n != 2 {
		t.Errorf("%d edges of the traffic's path, not 2", n)
	}
	decoder := xml.NewDecoder(&b)
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTextsNameEveryNodeAndInterface(t *testing.T) {
	for name, draw := range map[string]func(io.Writer, *plan.Plan) error{"dot": Dot, "mermaid": Mermaid} {
		var b bytes.Buffer
		if err := draw(&b, star(3)); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"hub", "leaf2", "alone", "e2", "l1"} {
			if !strings.Contains(b.String(), word) {
				t.Errorf("%s does not name %s", name, word)
			}
		}
	}
}

func TestTextsSayWhatIsPastTheKernel(t *testing.T) {
	p := star(1)
	p.Links[0].Kind, p.Links[0].Switch = spec.LinkSwitch, &plan.Switch{CPUs: []int{2, 3}}
	p.Links[0].Endpoints[0].Attach, p.Links[0].Endpoints[1].Attach = plan.AttachVhost, plan.AttachVeth
	for name, draw := range map[string]func(io.Writer, *plan.Plan) error{"dot": Dot, "mermaid": Mermaid} {
		var b bytes.Buffer
		if err := draw(&b, p); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); !strings.Contains(s, "switch, CPU 2,3") || !strings.Contains(s, "e0 (vhost)") || strings.Contains(s, "(veth)") {
			t.Errorf("%s says %s", name, s)
		}
	}
}

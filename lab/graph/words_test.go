package graph

import (
	"bytes"
	"fmt"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ring is four nodes in a circle, with an umlaut.
func ring() *plan.Plan {
	p := &plan.Plan{Name: "ring", Traffic: &plan.Traffic{From: plan.Port{Node: "a"}, Path: []string{"a:x", "b:x"}}}
	names := []string{"a", "b", "ü", "d"}
	for i, name := range names {
		before := names[(i+3)%4]
		p.Nodes = append(p.Nodes, plan.Node{Name: name, Runtime: "netns", Interfaces: []plan.Interface{
			{Name: "x", Link: fmt.Sprint("l", i)}, {Name: "y", Link: fmt.Sprint("l", (i+3)%4)},
		}})
		p.Links = append(p.Links, plan.Link{Name: fmt.Sprint("l", (i+3)%4), Kind: spec.LinkVeth, Endpoints: []plan.Endpoint{
			{Node: before, Interface: "x"}, {Node: name, Interface: "y"},
		}})
	}
	p.Traffic.Path = []string{"a:x", "b:y"}
	return p
}

func words(t *testing.T, p *plan.Plan, columns int, ascii bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Words(&b, p, columns, ascii); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWords: the whole drawing, so that a change of it is seen.
func TestWords(t *testing.T) {
	const want = `
┌───────┐                     ┌───────┐                     ┌───────┐
│ a     │                     │ b     │                     │ ü     │
│ netns │                     │ netns │                     │ netns │
├───────┤                     ├───────┤                     ├───────┤
│ x     ┝━━━ l0 (veth) ━━━━┓  │ x     ├─── l1 (veth) ──┐ ┌──┤ x     │
│ y     ├─── l3 (veth) ──┐ ┗━━┥ y     │                └─┼──┤ y     │
└───────┘                │    └───────┘                  │  └───────┘
                         │                               │
                         │    ┌───────┐                  │
                         │    │ d     │                  │
                         │    │ netns │                  │
                         │    ├───────┤                  │
                         └────┤ x     │                  │
                              │ y     ├─── l2 (veth) ────┘
                              └───────┘

━━━ the path of the measured traffic
`
	if got := words(t, ring(), 0, false); got != want[1:] {
		t.Errorf("%s\nnot%s", got, want)
	}
	for _, r := range words(t, ring(), 0, true) {
		if r >= utf8.RuneSelf {
			t.Fatalf("%q is not ASCII", r)
		}
	}
}

// TestBordersAreWhole: each line of a box ends where its frame does, whatever is in it.
func TestBordersAreWhole(t *testing.T) {
	for _, p := range []*plan.Plan{ring(), star(0), star(1), star(7)} {
		s, drawn := boxes(p)
		if !drawn {
			t.Fatal("not drawn")
		}
		text := s.text(false)
		for _, corners := range [][2]string{{"┌", "└"}, {"┐", "┘"}} {
			if strings.Count(text, corners[0]) < len(p.Nodes) || strings.Count(text, corners[1]) < len(p.Nodes) {
				t.Errorf("%d nodes, and too few corners:\n%s", len(p.Nodes), text)
			}
		}
		for _, n := range p.Nodes {
			if !strings.Contains(text, "│ "+n.Name+" ") {
				t.Errorf("no box of %s:\n%s", n.Name, text)
			}
		}
	}
}

// TestNarrowTerminalsGetAList: no line of it is broken by the terminal in the middle of a drawing.
func TestNarrowTerminalsGetAList(t *testing.T) {
	wide := words(t, ring(), 0, false)
	if got := words(t, ring(), widest(wide), false); got != wide {
		t.Error("a drawing that just fits is listed")
	}
	got := words(t, ring(), widest(wide)-1, false)
	if strings.Contains(got, "┌") || !strings.Contains(got, "* x  by l0 (veth) to b:y") || !strings.Contains(got, "  y  by l3 (veth) to d:x") {
		t.Error(got)
	}
}

// TestLinesNeverLieOnEachOther: in networks of any form, what is drawn has no stroke of two links.
func TestLinesNeverLieOnEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	drawn := 0
	for range 2000 {
		p := &plan.Plan{}
		nodes := 2 + random.IntN(6)
		for i := range nodes {
			p.Nodes = append(p.Nodes, plan.Node{Name: fmt.Sprint("n", i)})
		}
		for i := range 1 + random.IntN(9) {
			l := plan.Link{Name: fmt.Sprint("l", i), Kind: spec.LinkBridge}
			for range 2 + random.IntN(3) {
				n := &p.Nodes[random.IntN(nodes)]
				name := fmt.Sprint("e", len(n.Interfaces))
				n.Interfaces = append(n.Interfaces, plan.Interface{Name: name, Link: l.Name})
				l.Endpoints = append(l.Endpoints, plan.Endpoint{Node: n.Name, Interface: name})
			}
			p.Links = append(p.Links, l)
		}
		if _, is := boxes(p); is {
			drawn++
		}
		for _, part := range components(p, build(p)) {
			columns := columnsOf(part)
			arrange(columns, 0)
			for i := range len(columns) - 1 {
				g := gapBetween(p, columns[i], columns[i+1])
				if !g.order() {
					break
				}
				width, taken := g.place(1), map[[3]int]bool{}
				for _, c := range g.channels {
					s := &sheet{}
					c.draw(s, 1, width)
					for y, row := range s.rows {
						for x, cell := range row {
							for direction, weight := range cell.strokes {
								at := [3]int{x, y, direction}
								if weight > 0 && taken[at] {
									t.Fatalf("two links at %v of\n%s", at, words(t, p, 0, false))
								}
								taken[at] = taken[at] || weight > 0
							}
						}
					}
				}
			}
		}
	}
	if drawn < 1000 {
		t.Errorf("only %d of 2000 networks are drawn", drawn)
	}
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := PNG(&b, ring()); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	_, width, height := lay(ring())
	if size := picture.Bounds().Size(); size.X != int(2*width) || size.Y != int(2*height) {
		t.Errorf("%v pixels for %v by %v", size, width, height)
	}
	if err := PNG(&b, star(500)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

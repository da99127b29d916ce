// Package graph draws a plan's network: in the terminal, as its own SVG or PNG, as Mermaid, or as Graphviz dot. It is pure:
// the same plan gives the same picture.
package graph

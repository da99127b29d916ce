// Package graph draws a plan's network: as Graphviz dot, as Mermaid, or as its own SVG. It is pure:
// the same plan gives the same picture.
package graph

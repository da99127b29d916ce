// Package graph draws a plan's network: as Graphviz dot, as Mermaid, or as an SVG
// of its own making. It is pure: the same plan gives the same picture.
package graph

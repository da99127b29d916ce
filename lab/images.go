package lab

import (
	"context"
	"slices"

	"nines.dev/nines/plan"
)

// NodeImage is the image that a node was made of.
type NodeImage struct {
	Node string `json:"node"`
	// Image is as in the file; Digest says which image that was.
	Image  string `json:"image"`
	Digest string `json:"digest"`
}

// Images are those of the nodes that have one.
func (l *Lab) Images() ([]NodeImage, error) {
	var list []NodeImage
	for _, n := range l.Plan().Nodes {
		of, err := l.imageOf(n)
		if err != nil {
			return nil, err
		}
		if of != nil {
			list = append(list, *of)
		}
	}
	return list, nil
}

// imageOf is nil for a node without an image.
func (l *Lab) imageOf(n plan.Node) (*NodeImage, error) {
	digest, err := l.Place("").ImageDigest(n)
	if err != nil || digest == "" {
		return nil, err
	}
	return &NodeImage{Node: n.Name, Image: n.Image.Name, Digest: "sha256:" + digest}, nil
}

// outdated are the nodes of a plan that stay, though the name of their image means another than the one that
// they were made of. Of an image that cannot be read now nobody can tell: its nodes do not need it.
func (l *Lab) outdated(to *plan.Plan, begun []string) []string {
	var list []string
	for _, n := range to.Nodes {
		if n.Image == nil || slices.Contains(begun, n.Name) {
			continue
		}
		if other, err := l.Place("").ImageIsAnother(context.Background(), n); err == nil && other {
			list = append(list, n.Name)
		}
	}
	return list
}

package lab

import "nines.dev/nines/plan"

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
	for _, n := range l.plan.Nodes {
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
	digest, err := l.place("").ImageDigest(n)
	if err != nil || digest == "" {
		return nil, err
	}
	return &NodeImage{Node: n.Name, Image: n.Image.Name, Digest: "sha256:" + digest}, nil
}

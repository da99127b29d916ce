package spec

// image checks the keys of a node whose files are an image's.
func (c *checker) image(n *Node, at []string) {
	if n.Image == "" && n.Runtime.Descriptor().NeedsImage {
		c.fail("the node has no image; its runtime needs one", nodeImageForm, "write image; nines image ls lists nines' images", at...)
	}
	c.reference(n, at)
	if n.Init == InitOfNines && len(n.Command) > 0 {
		c.fail("command cannot be combined with init: nines, whose first process starts nothing else", "", "remove it, write init: image, or run it with exec when the links are up", under(at, "command")...)
	}
	if len(n.Command) > 0 && n.Command[0] == "" {
		c.fail("the program's name is empty", "", "", under(at, "command", "0")...)
	}
}

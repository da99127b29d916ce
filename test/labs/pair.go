package labs

// Pair is two nodes and a veth pair.
func Pair(name, more string) string {
	return "name: " + name + "\n" + more + `topology:
  nodes: {a: {runtime: netns}, b: {runtime: netns}}
  links: [{name: v, kind: veth, endpoints: ["a:x", "b:x"]}]
`
}

package labs

// Tuned tunes the host that it runs on, by the profile throughput, which changes when dirty memory is written to disk and who
// gets transparent hugepages; other profiles are tested in the virtual laboratory.
//
//	a:v ──veth── b:v
const Tuned = `
name: tbtune
tuning: throughput
topology:
  nodes: {a: {}, b: {}}
  links: [{name: v, endpoints: ["a:v", "b:v"]}]
`

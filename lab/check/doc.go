// Package check says what of a lab has died, or is not as planned, part by part: a node, a link's program, an
// interface, a sysctl, the host's settings. It changes nothing but the file of the sysctls' values.
package check

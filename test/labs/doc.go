// Package labs has the labs that tests of several packages build: their texts, the plan of a text for this host, what a host
// needs for them, and images. The tests of what these import themselves cannot use it.
package labs

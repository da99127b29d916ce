// Package traces finds what a lab leaves on a host: processes, devices, files and claims of its own, and what it changed of the
// host's settings, cards and CPUs. A test compares the host before a lab with the host after it. It reads as root.
package traces

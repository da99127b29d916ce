//go:build !manual

// Command nines builds container networks, measures the latency of every packet
// in them, and shows the tail.
package main

import "os"

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// Package capture shows the packets at an interface of a node.
package capture

//go:build !amd64

package trace

// counter is 0 on architectures without engines.
func counter() uint64 { return 0 }

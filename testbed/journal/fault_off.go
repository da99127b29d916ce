//go:build !faultpoint

package journal

// faultPoint does nothing in an ordinary build; see fault_on.go.
func faultPoint(string) {}

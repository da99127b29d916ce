//go:build !faultpoint

package fault

// Point does nothing in an ordinary build; see on.go.
func Point(moment string, kind ...string) {}

// Fail does nothing in an ordinary build; see on.go.
func Fail(moment string, kind ...string) error { return nil }

// Package way compares the path that packets took, as their headers tell it where they arrive, with the path that was
// planned. Its functions are pure.
package way

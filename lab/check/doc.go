// Package check says what of a lab has died, or is not as planned.
package check

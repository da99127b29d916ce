// Package disturb starts the disturbances that an experiment asks for, and says what they have done.
package disturb

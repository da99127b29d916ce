// Package killed tests that nothing is left of what the command nines did, wherever it was killed: the command of each verb
// kills itself at its fault points (package fault), once at each kind of step, and in the long form at every step. Then the
// next command finishes the work, or takes it back. The same holds where steps of taking it back fail,
// and where the journal of a lab is damaged.
//
// These tests need root, and run the whole command. So a change in any package that the command imports selects them, but
// not those of package lab, which call only that.
package killed

// Package wholehost tests what the command nines changes of a whole host (cards, who gets its CPUs, its settings): it is as
// before when the lab is down or the settings are reverted, also if nines was killed at any moment. Its tests are for the
// virtual laboratory (test/vm).
package wholehost

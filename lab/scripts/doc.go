// Package scripts runs the scripts of an experiment: those of nodes, on a leash, so that they end with nines, and
// those of the host, which run before a lab is made and after it is removed. What the scripts of nodes call is
// served by package script.
package scripts

// Package lab turns a plan into a running network, a lab, and removes it again.
//
// Up makes the nodes and links of a plan, Apply changes a running lab into another plan, Down
// removes it. A lab outlives the process that made it: all information about it is in its state
// folder (package state).
//
// A lab is changed by one process at a time; different labs do not wait for each other. One process
// at a time measures (BeginMeasurement). Up, Apply and Down may be killed at any point: Down, or
// the next Up of the same name, removes what exists. Everything here needs root.
package lab

// Package terminal lays out what people read: tables, numbers with their units, broken
// lines, colour where a terminal has it. It knows nothing of what it shows, and is
// imported by whoever prints.
package terminal

// Package running is a lab that is up, as its folder and its journal tell: its plan, the processes of its
// nodes, what was set on its devices, and commands in its nodes. Code that looks at a lab, or does something
// in it, needs no more. Package lab makes, changes and removes labs.
package running

// Package complete is what a shell offers while a command line of nines is typed: words that a flag allows, names of
// labs, nodes and results, and keys of experiment files. It only reads, and little: a shell waits for it after each Tab.
// What it cannot read it leaves out, without an error: nodes are known to root only.
package complete

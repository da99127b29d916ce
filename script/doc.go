// Package script serves the scripts of an experiment's nodes: their variables, the barriers at which
// they meet, what they upload, and commands that they leave running. Each node has a UNIX socket of its
// own, so that nines knows who asks; package wire is the protocol. What is decided is pure (Barriers,
// Variables, uploadName); Server is the shell around it.
package script

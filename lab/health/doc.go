// Package health decides about nodes that are watched: whether a node does its work, whether it is
// started again when it has ended, and when. It is pure: package lab looks at the nodes, and tells it
// what it sees.
package health

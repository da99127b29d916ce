// Package files copies files between the host and the nodes of a lab, as nines cp does.
//
// A copy is a stream of tar from one end to the other. What is in a node is hostile: a symbolic link in it leads
// nowhere outside of it, not even while the node replaces a folder by a link; a device in it is never opened; and a
// file that leaves it loses its set-user-ID and set-group-ID bits and its owner. Nodes whose processes run on the
// host's kernel are read and written from outside, and need no program. Guests and pods need tar.
//
// Copying needs root, as labs do. A copy that fails or is interrupted leaves what it had copied, each file whole.
package files

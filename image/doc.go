// Package image has the root file systems of nodes as images: it reads those of the OCI, of docker
// save, and plain root file systems, unpacks them, builds new ones from Debian's packages, and keeps
// them in a folder by their digest and by the names that users give.
//
// What is kept is made under a temporary name, below a lock, and renamed when it is complete: two
// builds of the same image wait for each other, and the rest of a killed one is never used. It asks no
// registry: drivers of containers do, and hand over what they have fetched (Fetched). Unpacking needs
// root, as images have files of many users.
package image

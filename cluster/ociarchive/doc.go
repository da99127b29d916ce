// Package ociarchive makes images of containers from files of this host, so that a cluster needs no
// registry and no network. An image is an archive as the OCI's image layout has it, which
// containerd, and every other runtime, imports. It is pure but for reading the files: the same
// files give the same archive, byte for byte.
package ociarchive

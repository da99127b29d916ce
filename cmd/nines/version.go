package main

// version is what `nines --version` prints: the Makefile sets it to git describe.
var version = "devel"

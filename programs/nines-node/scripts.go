package main

import (
	"errors"
	"io"
	"os"

	"nines.dev/nines/lab/node"
	scriptrelay "nines.dev/nines/script/relay"
)

// scripts lets the scripts of this guest reach nines, over the standard input and output, until that ends.
func scripts(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("scripts takes the folder of the node's scripts")
	}
	return scriptrelay.Serve(arguments[0], node.GuestScript, stdio{os.Stdin, os.Stdout})
}

// stdio is the host's end.
type stdio struct {
	io.Reader
	io.WriteCloser
}

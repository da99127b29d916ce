// Package fetch tests that drivers of containers fetch the images of nodes as they fetch for other users of theirs: by their
// own settings, from a registry, when the command nines brings a lab up. It needs root and the drivers.
package fetch

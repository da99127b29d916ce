package node

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// EnginesFolder has the control sockets of a lab's engines, in its state folder.
const EnginesFolder = "engines"

// EngineSocket is the control socket of a node's engine, below a lab's state folder. No container has a
// path to it: nines makes it, and gives it to the engine as a descriptor.
func EngineSocket(stateDir, nodeName string) string {
	return filepath.Join(stateDir, EnginesFolder, nodeName, "sock")
}

// OldEngineSocket is where that socket is in labs that nines made before: all containers of the lab see
// the folder.
func OldEngineSocket(stateDir, nodeName string) string {
	return filepath.Join(stateDir, EnginesFolder, nodeName+".sock")
}

// PrepareEngineSocket makes the folder of the socket of an engine that is about to start, without what an
// engine before has left, and returns the socket's path.
func PrepareEngineSocket(stateDir, nodeName string) (string, error) {
	socket := EngineSocket(stateDir, nodeName)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return "", err
	}
	for _, left := range []string{socket, OldEngineSocket(stateDir, nodeName)} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return socket, nil
}

// ListenForEngine makes the socket of an engine that is about to start, and returns what the engine accepts
// connections from. The caller closes it: once the engine has ended, nothing must take connections.
func ListenForEngine(stateDir, nodeName string) (*os.File, error) {
	socket, err := PrepareEngineSocket(stateDir, nodeName)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	file, err := listener.File()
	return file, errors.Join(err, listener.Close())
}

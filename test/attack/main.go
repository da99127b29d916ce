// The program attack runs inside a node, and tries what a node's programs must not be able to do. It prints a
// line for each attempt: what it tried, a tab, and how it ended.
//
//	attack sockets        tells every socket that it can see to stop
//	attack socket PATH    tells one
//	attack send IF HEX    sends a frame through an interface
//	attack calls          makes the system calls that show or change what is outside of the node
//	attack memory         takes memory until the kernel ends it
//	attack forbidden      makes a system call for which its own seccomp filter ends it
package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// patience is how long a socket may take to answer.
const patience = 2 * time.Second

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "sockets":
		sockets()
	case len(os.Args) == 3 && os.Args[1] == "socket":
		stop(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "calls":
		calls()
	case len(os.Args) == 4 && os.Args[1] == "send":
		fmt.Printf("%s\t%v\n", os.Args[2], send(os.Args[2], os.Args[3]))
	case len(os.Args) == 2 && os.Args[1] == "memory":
		takeMemory()
	case len(os.Args) == 2 && os.Args[1] == "forbidden":
		fmt.Printf("forbidden\t%v\n", forbidden())
	case len(os.Args) == 2 && os.Args[1] == "nothing":
	default:
		fmt.Fprintln(os.Stderr, "usage: attack sockets|socket PATH|send IF HEX|calls|memory|forbidden")
		os.Exit(2)
	}
}

// sockets sends each socket below the root the command by which an engine stops.
func sockets() {
	_ = filepath.WalkDir("/", func(path string, entry fs.DirEntry, err error) error {
		if path == "/proc" || path == "/sys" {
			return fs.SkipDir
		}
		if err != nil || entry.Type()&fs.ModeSocket == 0 {
			return nil
		}
		stop(path)
		return nil
	})
}

func stop(path string) { fmt.Printf("%s\t%s\n", path, tell(path, `{"cmd":"stop"}`)) }

func tell(path, line string) string {
	conn, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintln(conn, line) // who refuses the connection may have answered, and closed it
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return answer[:len(answer)-1]
}

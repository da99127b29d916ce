package node

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// mostUsers is how much of a node's list of users or groups is read.
const mostUsers = 1 << 20

// userOption is a user of the node as an option of nines-init, "UID:GID" or "UID:GID:GROUP,GROUP", and the user's home.
// Names are looked up in the node's own files.
func (r *Running) userOption(name string) (option, home string, err error) {
	found, err := user.GetExecUser(name, &user.ExecUser{Home: "/"}, r.list("/etc/passwd"), r.list("/etc/group"))
	if err != nil {
		return "", "", exit.Wrongf("the user %q: %w; write one of its /etc/passwd, or a number", name, err)
	}
	option = fmt.Sprintf("%d:%d", found.Uid, found.Gid)
	var groups []string
	for _, id := range found.Sgids {
		groups = append(groups, strconv.Itoa(id))
	}
	if len(groups) > 0 {
		option += ":" + strings.Join(groups, ",")
	}
	return option, found.Home, nil
}

// list is a list of the node's users or groups; empty where it has none.
func (r *Running) list(path string) io.Reader {
	// A pipe in its place would never be written to.
	file, err := OpenInside(r.PID, path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return bytes.NewReader(nil)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return bytes.NewReader(nil)
	}
	text, err := io.ReadAll(io.LimitReader(file, mostUsers))
	if err != nil {
		return bytes.NewReader(nil)
	}
	return bytes.NewReader(text)
}

package image

import (
	"os"

	securejoin "github.com/cyphar/filepath-securejoin"
	"github.com/moby/sys/user"

	"nines.dev/nines/exit"
)

// User is a user in a root file system.
type User struct {
	UID, GID uint32
	// Groups are the supplementary ones.
	Groups []uint32
	Home   string
}

// User is the image's user: root, where it names none. Names are looked up in its own files.
func (u *Unpacked) User() (User, error) {
	passwd, err := securejoin.SecureJoin(u.Root, "etc/passwd")
	if err != nil {
		return User{}, err
	}
	group, err := securejoin.SecureJoin(u.Root, "etc/group")
	if err != nil {
		return User{}, err
	}
	root := &user.ExecUser{Home: "/root"}
	found, err := user.GetExecUserPath(u.Config.User, root, regular(passwd), regular(group))
	if err != nil {
		return User{}, exit.Wrongf("the image's user %q: %w; correct the image, or write init: nines", u.Config.User, err)
	}
	result := User{UID: uint32(found.Uid), GID: uint32(found.Gid), Home: found.Home}
	for _, id := range found.Sgids {
		result.Groups = append(result.Groups, uint32(id))
	}
	return result, nil
}

// regular is the path of a regular file, else of none: a pipe would never be read.
func regular(path string) string {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return os.DevNull
	}
	return path
}

// Arguments are what runs in a node with the image: the command that the node gives, or the image's
// entrypoint and command; none if neither says anything.
func (u *Unpacked) Arguments(command []string) []string {
	if len(command) > 0 {
		return command
	}
	return append(append([]string{}, u.Config.Entrypoint...), u.Config.Cmd...)
}

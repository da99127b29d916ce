package link

// privateMounts mounts empty file systems over folders, in a private mount namespace, and then
// executes the command. The arguments are the folders, "--", and the command.
const privateMounts = `while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 1; shift; done; shift; exec "$@"`

// withPrivate runs a command by unshare(1) with its own folders in place of the host's, for
// programs that write to folders that no option changes. Their files disappear with the last
// process that sees them, however it ends.
func withPrivate(unshare string, folders, argv []string) []string {
	wrapped := []string{unshare, "--mount", "--propagation", "private", "--", "/bin/sh", "-c", privateMounts, "sh"}
	return append(append(append(wrapped, folders...), "--"), argv...)
}

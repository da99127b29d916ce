package link

// privateMounts covers folders by empty file systems in a private mount namespace and
// then becomes the command. The arguments are the folders, "--", and the command.
const privateMounts = `while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 1; shift; done; shift; exec "$@"`

// withPrivate runs a command by unshare(1) with folders of its own in place of the
// host's, for programs that write to folders which no option changes. What they leave
// goes with the last process that sees it, however that ends.
func withPrivate(unshare string, folders, argv []string) []string {
	wrapped := []string{unshare, "--mount", "--propagation", "private", "--", "/bin/sh", "-c", privateMounts, "sh"}
	return append(append(append(wrapped, folders...), "--"), argv...)
}

package guestimage

import (
	"os"
	"strings"
)

// Release is a release of Debian.
type Release struct {
	// Number is as in "Debian 12", Name the code name.
	Number, Name string
}

// Releases are those for which images can be made, the oldest first.
var Releases = []Release{{"12", "bookworm"}, {"13", "trixie"}}

// kernelReleases are those whose kernels can be booted: also older ones, on which others have measured.
var kernelReleases = append([]Release{{"11", "bullseye"}}, Releases...)

func releaseNames() []string {
	var names []string
	for _, r := range Releases {
		names = append(names, r.Name)
	}
	return names
}

// HostRelease is the host's release, so that programs built on the host run in the guest;
// on other hosts the newest.
func HostRelease() Release {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		text = nil
	}
	return releaseOf(string(text))
}

// releaseOf reads an os-release(5).
func releaseOf(text string) Release {
	for line := range strings.Lines(text) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME=")
		for _, r := range Releases {
			if found && strings.Trim(name, `"`) == r.Name {
				return r
			}
		}
	}
	return Releases[len(Releases)-1]
}

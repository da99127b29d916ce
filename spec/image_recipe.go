package spec

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// ImageRecipe says what an image is made of: a base, then packages, then files, then a script that
// runs in it.
type ImageRecipe struct {
	// From is a release of Debian, another image (a stored one or one with a path), or a definition file of
	// distrobuilder.
	From string `yaml:"from" json:"from"`
	// Packages are Debian's, with what they depend on.
	Packages []string `yaml:"packages,omitempty" json:"packages,omitempty"`
	// Files are copied from the host.
	Files []ImageFile `yaml:"files,omitempty" json:"files,omitempty"`
	// Script is a file of the host that runs in the image as root, by its first line's interpreter.
	Script string `yaml:"script,omitempty" json:"script,omitempty"`
	// SSH adds an SSH server, without keys of its own (default false).
	SSH bool `yaml:"ssh,omitempty" json:"ssh,omitempty"`
}

// ImageFile is a file of the host in an image.
type ImageFile struct {
	// Source is a file on the host; its mode is kept, its owner is root.
	Source string `yaml:"source" json:"source"`
	// Target is its absolute path in the image.
	Target string `yaml:"target" json:"target"`
}

// ImageReleases are the releases of Debian of which images are built.
var ImageReleases = []string{"bookworm", "trixie"}

const imageBaseForm = "bookworm, trixie, the name of an image that nines has, a path such as rootfs.tar.xz, an absolute path after oci:, docker-archive:, rootfs:, lxc: or incus:, or distrobuilder:FILE"

func checkImageBase(text string) error {
	if slices.Contains(ImageReleases, text) || isBesidePath(text) && hostPathText.MatchString(text) {
		return nil
	}
	if file, is := strings.CutPrefix(text, definitionPrefix); is {
		if hostPathText.MatchString(file) && !path.IsAbs(file) {
			return nil // beside the experiment file
		}
		return checkImagePath(definitionPrefix, file)
	}
	return baseReference(text)
}

// archiveName is the end of the name of a tar file, plain or compressed.
var archiveName = regexp.MustCompile(`\.(tar|tgz|tar\.(gz|xz|zst))$`)

// isBesidePath is true for a base that is the path of a file or folder, which may begin at the experiment
// file's folder. The name of a registry's image may look the same, but is no base.
func isBesidePath(text string) bool {
	return strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") ||
		!strings.HasPrefix(text, "/") && !strings.Contains(text, ":") && archiveName.MatchString(text)
}

var hostPathText = regexp.MustCompile(hostPathPattern)

// definitionPrefix is before the path of a definition file of distrobuilder.
const definitionPrefix = "distrobuilder:"

// Definition is the definition file of distrobuilder that the recipe begins with; empty for another
// base.
func (r *ImageRecipe) Definition() string {
	file, is := strings.CutPrefix(r.From, definitionPrefix)
	if !is {
		return ""
	}
	return file
}

// IsRelease is true for a recipe whose base is a release of Debian.
func (r *ImageRecipe) IsRelease() bool { return slices.Contains(ImageReleases, r.From) }

// images checks the recipes: an image's base is made before it.
func (c *checker) images() {
	for name := range c.e.Images {
		seen, from := map[string]bool{name: true}, name
		for c.e.Images[from] != nil {
			from = c.e.Images[from].From
			if seen[from] {
				c.fail(fmt.Sprintf("the image %q is made from itself", name), "", "name another base", "images", name, "from")
				break
			}
			seen[from] = true
		}
	}
}

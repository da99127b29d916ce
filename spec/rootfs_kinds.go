package spec

import "slices"

// RootfsKind is the origin of a root file system.
type RootfsKind string

// The origins of a root file system; package lab/node makes each.
const (
	RootfsMinimal RootfsKind = "minimal"
	RootfsDebian  RootfsKind = "debian"
)

// RootfsDescriptor describes an origin of root file systems. The checks of a file and its schema read it.
type RootfsDescriptor struct {
	Kind RootfsKind
	// Distribution is true for a distribution of Linux: it has releases, and systemd.
	Distribution bool
}

// rootfsKinds lists every origin; the first is the default.
var rootfsKinds = []RootfsDescriptor{
	{Kind: RootfsMinimal},
	{Kind: RootfsDebian, Distribution: true},
}

// Descriptor returns the descriptor of an origin, and an empty one for an unknown origin.
func (k RootfsKind) Descriptor() *RootfsDescriptor {
	if i := slices.IndexFunc(rootfsKinds, func(d RootfsDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &rootfsKinds[i]
	}
	return &RootfsDescriptor{Kind: k}
}

// rootfsThat lists the origins that satisfy a condition.
func rootfsThat(isSo func(*RootfsDescriptor) bool) []string {
	var kinds []string
	for i := range rootfsKinds {
		if isSo(&rootfsKinds[i]) {
			kinds = append(kinds, string(rootfsKinds[i].Kind))
		}
	}
	return kinds
}

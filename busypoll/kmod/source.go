// Package kmod has the sources of the kernel modules that nines builds on the host that
// will load them. They have their own license: see LICENSE in each folder.
package kmod

import "embed"

// Sources are the modules' folders: kbp, the live patch that polls devices.
//
//go:embed kbp/Kbuild kbp/LICENSE kbp/*.c kbp/*.h
var Sources embed.FS

package plan

import "nines.dev/nines/spec"

// OCI is what a node needs that is a container of an OCI image.
type OCI struct {
	// Driver is the program that makes the container.
	Driver spec.OCIDriver `json:"driver"`
	// Image is as in the file.
	Image string `json:"image"`
	// Init is the first process, Command replaces the image's entrypoint and command.
	Init    spec.ContainerInit `json:"init"`
	Command []string           `json:"command,omitempty"`
}

func (n *node) ociResult() *OCI {
	if !n.spec.Runtime.Descriptor().Takes("image") {
		return nil
	}
	return &OCI{Driver: n.spec.Driver, Image: n.spec.Image, Init: n.spec.Init, Command: n.spec.Command}
}

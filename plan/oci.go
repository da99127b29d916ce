package plan

import "nines.dev/nines/spec"

// OCI is how a container of an OCI image is made, and what runs in it.
type OCI struct {
	// Driver is the program that makes the container.
	Driver spec.OCIDriver `json:"driver"`
	// Init is the first process, Command replaces the image's entrypoint and command.
	Init    spec.ContainerInit `json:"init"`
	Command []string           `json:"command,omitempty"`
}

// Image is the image that a node's files are.
type Image struct {
	// Name is as in the file.
	Name string `json:"name"`
	// Recipes are those of the file that make the image and its bases, each after its base; empty
	// where the file has none for it.
	Recipes []NamedRecipe `json:"recipes,omitempty"`
}

// NamedRecipe is the recipe of an image that the store keeps under a name.
type NamedRecipe struct {
	Name string `json:"name"`
	spec.ImageRecipe
}

func (w *work) ociResult(n *node) *OCI {
	if !n.spec.Runtime.Descriptor().Takes("driver") {
		return nil
	}
	return &OCI{Driver: n.spec.Driver, Init: n.spec.Init, Command: n.spec.Command}
}

func (w *work) imageResult(n *node) *Image {
	if n.spec.Image == "" {
		return nil
	}
	return &Image{Name: n.spec.Image, Recipes: Recipes(w.exp, n.spec.Image)}
}

// Recipes are the file's recipes that an image needs, each after its base.
func Recipes(exp *spec.Experiment, image string) []NamedRecipe {
	recipe := exp.Images[image]
	if recipe == nil {
		return nil
	}
	return append(Recipes(exp, recipe.From), NamedRecipe{image, *recipe})
}

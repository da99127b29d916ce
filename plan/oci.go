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
	if !n.spec.Runtime.Descriptor().Takes("image") {
		return nil
	}
	return &OCI{
		Driver: n.spec.Driver, Image: n.spec.Image, Init: n.spec.Init, Command: n.spec.Command,
		Recipes: Recipes(w.exp, n.spec.Image),
	}
}

// Recipes are the file's recipes that an image needs, each after its base.
func Recipes(exp *spec.Experiment, image string) []NamedRecipe {
	recipe := exp.Images[image]
	if recipe == nil {
		return nil
	}
	return append(Recipes(exp, recipe.From), NamedRecipe{image, *recipe})
}

package complete

import (
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/spec"
)

// ExperimentFiles offers YAML files.
var ExperimentFiles = Files("yaml", "yml")

// Sets offers the keys of the experiment file that the call names, and their values. For a call without a file it
// takes the built-in one; without that too, it offers keys without names.
func Sets(builtIn []byte) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		file := fileOf(c, args)
		if file == nil && builtIn != nil {
			file, _ = spec.Load("", builtIn) // nil offers less
		}
		list, err := spec.Suggest(file, typed)
		if err != nil {
			return Nothing(c, args, typed)
		}
		var offers []cobra.Completion
		more := cobra.ShellCompDirectiveDefault
		for _, one := range list {
			offers = append(offers, word(one.Text, one.Doc))
			if strings.HasSuffix(one.Text, ".") || strings.HasSuffix(one.Text, "=") {
				more = cobra.ShellCompDirectiveNoSpace
			}
		}
		offers, directive := only(typed, offers)
		return offers, directive | more
	}
}

// fileOf is the first experiment file that a call names; nil if it names none.
func fileOf(c *cobra.Command, args []string) *spec.File {
	if flag := c.Flag("for"); flag != nil && flag.Value.Type() == "string" {
		args = append([]string{flag.Value.String()}, args...)
	}
	for _, arg := range args {
		if f, err := spec.LoadFile(arg); err == nil {
			return f
		}
	}
	return nil
}

package complete

import (
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// Func lists what may stand where the user types.
type Func = cobra.CompletionFunc

// word is one offer; doc may be empty.
func word(text, doc string) cobra.Completion {
	if doc == "" {
		return text
	}
	return cobra.CompletionWithDesc(text, doc)
}

// offer keeps what begins as the user typed, and what a shell can show: a name in a folder may hold anything.
func offer(typed string, list []cobra.Completion) []cobra.Completion {
	var kept []cobra.Completion
	for _, one := range list {
		shown := strings.Replace(one, "\t", " ", 1)
		if strings.HasPrefix(one, typed) && !strings.ContainsFunc(shown, unicode.IsControl) {
			kept = append(kept, one)
		}
	}
	return kept
}

// only offers these and nothing else.
func only(typed string, list []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	return offer(typed, list), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// orFiles offers these, and files where none fits.
func orFiles(typed string, list []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	return offer(typed, list), cobra.ShellCompDirectiveKeepOrder
}

// Nothing offers nothing: for numbers, times and free text.
func Nothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// AnyFile offers files of all names.
func AnyFile(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Folders offers folders.
func Folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Files offers files whose names end in one of these.
func Files(endings ...string) Func {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

// Words offers words, each alone or with a tab and what it means.
func Words[T ~string](words ...T) Func {
	list := make([]cobra.Completion, len(words))
	for i, one := range words {
		list[i] = string(one)
	}
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return only(typed, list)
	}
}

// NamesIn offers the names in a folder.
func NamesIn(dir string) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		entries, _ := os.ReadDir(dir) // none, where it is not there
		var names []cobra.Completion
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return only(typed, names)
	}
}

// List offers the words of a list with commas, each once.
func List(of Func) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		words, _ := of(c, args, typed[len(before):])
		var list []cobra.Completion
		for _, one := range words {
			text, _, _ := strings.Cut(one, "\t")
			if !strings.Contains(","+before, ","+text+",") {
				list = append(list, before+one)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder | cobra.ShellCompDirectiveNoSpace
	}
}

// InOrder offers for each argument what is its own, and nothing for those after the last.
func InOrder(each ...Func) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return Nothing(c, args, typed)
		}
		return each[len(args)](c, args, typed)
	}
}

// Then offers for the first argument what is its own, and for all others the same.
func Then(first, others Func) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return first(c, args, typed)
		}
		return others(c, args, typed)
	}
}

// Each offers the same for all arguments, without what is already there.
func Each(of Func) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		words, directive := of(c, args, typed)
		if directive&(cobra.ShellCompDirectiveFilterFileExt|cobra.ShellCompDirectiveFilterDirs) != 0 {
			return words, directive
		}
		return without(words, args), directive
	}
}

// without leaves out what is among the arguments.
func without(words []cobra.Completion, args []string) (left []cobra.Completion) {
	taken := map[string]bool{}
	for _, arg := range args {
		taken[arg] = true
	}
	for _, one := range words {
		if text, _, _ := strings.Cut(one, "\t"); !taken[text] {
			left = append(left, one)
		}
	}
	return left
}

// Together offers all of these, none of which offers files.
func Together(all ...Func) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var list []cobra.Completion
		for _, of := range all {
			words, _ := of(c, args, typed)
			list = append(list, words...)
		}
		return only(typed, list)
	}
}

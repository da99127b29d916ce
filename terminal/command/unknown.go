package command

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// unknownWord is the word that cobra knows no command for. It has no type for that error.
func unknownWord(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	said, is := strings.CutPrefix(err.Error(), "unknown command ")
	quoted, wrong := strconv.QuotedPrefix(said)
	if !is || wrong != nil {
		return "", false
	}
	word, wrong := strconv.Unquote(quoted)
	return word, wrong == nil
}

// unknownCommand says what a word can mean that is no command. Nothing is run in its place: the command meant may
// change the host.
func unknownCommand(at *cobra.Command, word string) error {
	if !at.HasAvailableSubCommands() {
		return exit.Wrongf("%s takes no argument, and got %q; see '%s --help'", at.Name(), word, at.CommandPath())
	}
	asked := ""
	if meant := meantBy(at, word); len(meant) > 0 {
		asked = " did you mean '" + strings.Join(meant, "' or '") + "'?"
	}
	return exit.Wrongf("unknown command %q for %q;%s '%s --help' lists the commands", word, at.CommandPath(), asked, at.CommandPath())
}

// meantBy lists the commands that a word can mean: what other programs call so (SuggestFor), the same word below another
// command, or the nearest name here.
func meantBy(at *cobra.Command, word string) []string {
	var elsewhere, same []string
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Hidden {
				continue
			}
			if slices.Contains(sub.SuggestFor, strings.ToLower(word)) {
				elsewhere = append(elsewhere, sub.CommandPath())
			}
			if sub.Name() == word {
				same = append(same, sub.CommandPath())
			}
			look(sub)
		}
	}
	look(at.Root())
	var names []string
	for _, sub := range at.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	near := terminal.Nearest(word, names)
	switch {
	case len(elsewhere) > 0:
		return elsewhere
	case len(same) > 0:
		return same
	case near != "":
		return []string{at.CommandPath() + " " + near}
	}
	return nil
}

// fileFlags are the options by which other programs take their file, which here is an argument.
var fileFlags = []string{"f", "t", "c", "file", "topo", "filename", "config"}

// unknownFlag ends the error about a command's options with what is meant.
func unknownFlag(c *cobra.Command, err error) error {
	meant := ""
	if none := new(pflag.NotExistError); errors.As(err, &none) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := none.GetSpecifiedName()
		if near := terminal.Nearest(name, names); near != "" {
			meant = " did you mean --" + near + "?"
		} else if strings.Contains(c.Use, "FILE") && slices.Contains(fileFlags, name) {
			meant = " the file is an argument, as in '" + c.CommandPath() + " FILE';"
		}
	}
	return exit.Wrongf("%w;%s see '%s --help'", err, meant, c.CommandPath())
}

// refuseUnknownTopics lets `help` refuse what is no command, as the command line itself does.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() != "help" {
			continue
		}
		help.SuggestFor = []string{"man", "manual", "usage", "commands"}
		help.RunE = func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if word, is := unknownWord(err); is {
				return unknownCommand(root, word)
			}
			if err != nil {
				return err
			}
			if c.HasAvailableSubCommands() && len(rest) > 0 {
				return unknownCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			return c.Help()
		}
	}
}

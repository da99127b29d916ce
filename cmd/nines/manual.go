//go:build manual

// With the tag manual the command is another: it writes the manual's pages into a folder, one for each verb, from the
// help texts.
//
//	SOURCE_DATE_EPOCH=… go run -tags manual -ldflags '-X main.version=1.2.0' ./cmd/nines DIR
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"nines.dev/nines/terminal"
)

func main() {
	if err := writeManual(os.Args[1], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		terminal.Println(os.Stderr, err)
		os.Exit(1)
	}
}

func writeManual(dir, epoch string) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	date := time.Unix(seconds, 0).UTC()
	root := newRootCommand()
	root.DisableAutoGenTag = true
	all := everyCommand(root)
	for _, c := range all {
		c.InitDefaultHelpFlag()
		c.Long = markdown(c.Long) + options("OPTIONS", c.NonInheritedFlags())
		if c.HasParent() {
			c.Long += options("OPTIONS OF "+c.Parent().CommandPath(), c.InheritedFlags())
		}
		c.Example = strings.TrimRight(c.Example, "\n")
		if c.Hidden {
			c.Parent().RemoveCommand(c)
		}
	}
	for _, c := range all { // doc would write each in one paragraph with its text
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	}
	return doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Path: dir, CommandSeparator: "-",
		Header: &doc.GenManHeader{Section: "1", Date: &date, Source: "nines " + version, Manual: "nines"},
	})
}

// markdown writes a help text as doc reads it: indented lines are lists, which stay as they are.
func markdown(text string) string {
	var out strings.Builder
	literal := false
	for line := range strings.Lines(text) {
		if indented := strings.HasPrefix(line, "  "); indented != literal && strings.TrimSpace(line) != "" {
			literal = indented
			out.WriteString("\n")
		}
		if literal {
			out.WriteString("    " + line)
		} else {
			out.WriteString(plainMarkdown.Replace(line))
		}
	}
	return out.String()
}

// plainMarkdown takes their meaning from characters such as those of links.*.kind.
var plainMarkdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`, "#", `\#`)

// options lists flags as a manual does.
func options(title string, flags *pflag.FlagSet) string {
	var out strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" {
			return
		}
		name := "**--" + f.Name + "**"
		if f.Shorthand != "" {
			name = "**-" + f.Shorthand + "**, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " *" + strings.TrimSuffix(kind, "Array") + "*"
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		terminal.Printf(&out, "%s\n: %s\n\n", name, plainMarkdown.Replace(usage))
	})
	if out.Len() == 0 {
		return ""
	}
	return "\n\n# " + strings.ToUpper(title) + "\n\n" + out.String()
}

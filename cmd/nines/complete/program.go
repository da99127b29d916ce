package complete

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// patience is how long a shell waits for another program.
const patience = time.Second

// By offers what another program of nines does, which takes the whole call.
func By(find func() (program string, err error)) Func {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		program, err := find()
		if err != nil {
			return Nothing(c, args, typed)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		words := append([]string{cobra.ShellCompRequestCmd}, append(args, typed)...)
		out, err := exec.CommandContext(ctx, program, words...).Output()
		if err != nil {
			return Nothing(c, args, typed)
		}
		lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
		last := len(lines) - 1
		number, err := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
		if err != nil {
			return Nothing(c, args, typed)
		}
		return offer("", lines[:last]), cobra.ShellCompDirective(number)
	}
}

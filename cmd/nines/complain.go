package main

import (
	"io"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// complain prints a line about something that does not stop the verb. It may quote a file that
// someone else wrote.
func complain(out io.Writer, format string, args ...any) {
	terminal.Printf(out, "nines: "+format+"\n", args...)
}

// mostProblems is how many problems of a result are printed: those of a result without its trials'
// folders would push everything else off the screen.
const mostProblems = 20

// complainOf prints what is wrong with a result that can be read all the same.
func complainOf(out io.Writer, r *result.Result, problems []string) {
	for i, problem := range problems {
		if i == mostProblems {
			complain(out, "%s: … and %s more", r.Dir, terminal.Count(len(problems)-i, "problem"))
			return
		}
		complain(out, "%s: %s", r.Dir, problem)
	}
}

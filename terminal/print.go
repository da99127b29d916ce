package terminal

import (
	"fmt"
	"io"
)

// Printf is fmt.Fprintf for what people read. The format is the program's own, but arguments come from
// files, containers, the kernel and other machines: what a terminal would act on in one of them becomes
// a question mark, as in Plain, so none can move the cursor or look like another line. Text of several
// lines is printed by PlainLines.
func Printf(out io.Writer, format string, args ...any) (int, error) {
	if false { // go vet then knows that this takes a format
		return fmt.Fprintf(out, format, args...)
	}
	return fmt.Fprintf(out, format, plainArguments(args)...)
}

// Println is fmt.Fprintln, in the same way.
func Println(out io.Writer, args ...any) (int, error) {
	return fmt.Fprintln(out, plainArguments(args)...)
}

func plainArguments(args []any) []any {
	plain := make([]any, len(args))
	for i, arg := range args {
		if _, is := arg.(int); is { // it may be a width, which fmt takes as an int only
			plain[i] = arg
		} else {
			plain[i] = plainArgument{arg}
		}
	}
	return plain
}

// plainArgument is plain in whatever form fmt prints it.
type plainArgument struct{ value any }

func (p plainArgument) Format(out fmt.State, verb rune) {
	text := fmt.Sprintf(fmt.FormatString(out, verb), p.value)
	_, _ = io.WriteString(out, Plain(text)) // the caller sees the error of what fmt has collected
}

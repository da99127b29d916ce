package lab

import "context"

// interruptedError is the end of a change that the user ended, as by Ctrl-C. What failed then, such as a command that the
// terminal's signal reached too, is no cause.
type interruptedError struct{ while, left string }

func (e *interruptedError) Error() string {
	text := "interrupted"
	if e.while != "" {
		text += " while " + e.while
	}
	if e.left != "" {
		text += "; " + e.left
	}
	return text
}

func (e *interruptedError) Unwrap() error { return context.Canceled }

// interruptedIn is err, or that the context ended meanwhile.
func interruptedIn(ctx context.Context, while string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &interruptedError{while: while}
}

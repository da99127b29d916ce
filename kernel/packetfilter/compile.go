package packetfilter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"

	"nines.dev/nines/exit"
)

// Filter chooses packets of one link type. It is safe for concurrent use.
type Filter struct {
	program []bpf.RawInstruction
	whole   *bpf.VM
	cut     *bpf.VM // of packets with their length before them
}

// Compile compiles an expression by the program nines-filter. linkType is a number of
// https://www.tcpdump.org/linktypes.html. The error of a wrong expression has exit code 2.
func Compile(ctx context.Context, nines, expression string, linkType uint32) (*Filter, error) {
	c := exec.CommandContext(ctx, nines, strconv.FormatUint(uint64(linkType), 10), expression)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	failed := new(exec.ExitError)
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == exit.Wrong:
		return nil, exit.Wrongf("the filter %q: %s; man pcap-filter has the language", expression, strings.TrimSpace(said.String()))
	case err != nil:
		return nil, fmt.Errorf("compile the filter %q: %w: %s", expression, err, strings.TrimSpace(said.String()))
	}
	program, err := parse(string(out))
	if err != nil {
		return nil, fmt.Errorf("compile the filter %q: %w", expression, err)
	}
	f, err := newFilter(program)
	if err != nil {
		return nil, exit.Wrongf("the filter %q: %w; compare only what is in packets", expression, err)
	}
	return f, nil
}

// parse reads a program in the form of tcpdump -ddd.
func parse(text string) ([]bpf.RawInstruction, error) {
	var program []bpf.RawInstruction
	count, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		var i bpf.RawInstruction
		if _, err := fmt.Sscan(line, &i.Op, &i.Jt, &i.Jf, &i.K); err != nil {
			return nil, fmt.Errorf("%q is no instruction: %w", line, err)
		}
		program = append(program, i)
	}
	if fmt.Sprint(len(program)) != count || len(program) == 0 {
		return nil, fmt.Errorf("%d instructions, not %q", len(program), count)
	}
	return program, nil
}

func newFilter(program []bpf.RawInstruction) (*Filter, error) {
	instructions, known := bpf.Disassemble(program)
	if !known {
		return nil, errors.New("it has instructions that are not known here")
	}
	for _, i := range instructions {
		if e, ok := i.(bpf.LoadExtension); ok && e.Num != bpf.ExtLen {
			return nil, errors.New("it asks what the packet does not say, such as its direction")
		}
	}
	f := &Filter{program: program}
	var err error
	if f.whole, err = bpf.NewVM(instructions); err != nil {
		return nil, err
	}
	f.cut, err = bpf.NewVM(behindLength(instructions))
	return f, err
}

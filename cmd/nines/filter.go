package main

import (
	"context"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/kernel/packetfilter"
	"nines.dev/nines/lab/node"
)

// compileFilter compiles a filter in tcpdump's language; nil without an expression.
func compileFilter(ctx context.Context, expression string, link packetfile.LinkType) (*packetfilter.Filter, error) {
	if expression == "" {
		return nil, nil
	}
	program, err := node.Program("nines-filter")
	if err != nil {
		return nil, err
	}
	return packetfilter.Compile(ctx, program, expression, uint32(link))
}

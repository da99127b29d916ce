package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"nines.dev/nines/analyze"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// analyzePoint holds the options of one of the two points of nines analyze.
type analyzePoint struct {
	files     []string
	network   string // interface
	direction string
	filter    string
}

// analyzePoints are both, and what holds for both.
type analyzePoints struct {
	pre, post analyzePoint
	filter    string
}

func (p *analyzePoints) flags(c *cobra.Command) {
	for _, point := range []struct {
		name string
		*analyzePoint
	}{{"pre", &p.pre}, {"post", &p.post}} {
		c.Flags().StringArrayVar(&point.files, point.name, nil, fmt.Sprintf("a file of %s, or a quoted pattern such as '%s*.pcap'; may be given several times", point.name, point.name))
		c.Flags().StringVar(&point.network, point.name+"-interface", "", fmt.Sprintf("%s is only this interface of its files: a name or number (default: all)", point.name))
		c.Flags().StringVar(&point.direction, point.name+"-direction", "", fmt.Sprintf("%s is only what its interface received (in) or sent (out) (default: both)", point.name))
		c.Flags().StringVar(&point.filter, point.name+"-filter", "", fmt.Sprintf("%s is only what this filter in tcpdump's language chooses (default: all)", point.name))
	}
	c.Flags().StringVar(&p.filter, "filter", "", "evaluate only what this filter in tcpdump's language chooses (default: all)")
}

// args checks how many captures are named.
func (p *analyzePoints) args(c *cobra.Command, args []string) error {
	named := len(p.pre.files) > 0
	switch {
	case named != (len(p.post.files) > 0), named && len(args) > 0:
		return exit.Wrongf("name files by --pre and --post, or as '%s PRE POST'", c.CommandPath())
	case named, len(args) == 2, len(args) == 1 && p.twoPoints():
		return nil
	case len(args) == 1:
		return exit.Wrongf("'%s' takes two captures: one before and one after the device under test; if both points are in %s, choose them by --pre-interface and --post-interface", c.CommandPath(), args[0])
	case len(args) > 2:
		return exit.Wrongf("%d files; if a pattern such as pre*.pcap is meant, quote it, so that nines knows which files are before and which are after the device under test: %s --pre 'pre*.pcap' --post 'post*.pcap'", len(args), c.CommandPath())
	}
	return exit.Wrongf("'%s' takes two captures: one before and one after the device under test; see '%s --help'", c.CommandPath(), c.CommandPath())
}

// twoPoints reports whether one file can be both captures.
func (p *analyzePoints) twoPoints() bool {
	one, other := p.pre, p.post
	return one.network != other.network || one.direction != other.direction || one.filter != other.filter
}

// into sets the files of both points, and which of their packets count.
func (p *analyzePoints) into(ctx context.Context, args []string, o *analyze.Options) (err error) {
	if len(args) > 0 {
		p.pre.files, p.post.files = args[:1], args[len(args)-1:]
	}
	if o.Pre, o.PreMore, err = p.pre.expand(); err != nil {
		return err
	}
	if o.Post, o.PostMore, err = p.post.expand(); err != nil {
		return err
	}
	if o.PreChoice, err = p.pre.choice(ctx, "--pre", p.filter); err != nil {
		return err
	}
	o.PostChoice, err = p.post.choice(ctx, "--post", p.filter)
	return err
}

// expand returns the files that patterns name.
func (p *analyzePoint) expand() (first string, more []string, err error) {
	var all []string
	for _, pattern := range p.files {
		paths, err := packetfile.Expand(pattern)
		if err != nil {
			return "", nil, err
		}
		all = append(all, paths...)
	}
	return all[0], all[1:], nil
}

// choice is what the options of a point choose. It compiles the filter once for Ethernet, so that an
// error comes before a long file is read.
func (p *analyzePoint) choice(ctx context.Context, option, both string) (packetfile.Choice, error) {
	c := packetfile.Choice{Interface: p.network, Expression: both}
	if p.direction != "" {
		var err error
		if c.Direction, err = packetfile.ParseDirection(p.direction); err != nil {
			return c, exit.Wrongf("%s-direction: %w", option, err)
		}
	}
	if p.filter != "" {
		c.Expression = p.filter
		if both != "" {
			c.Expression = fmt.Sprintf("(%s) and (%s)", both, p.filter)
		}
	}
	if c.Expression == "" {
		return c, nil
	}
	c.Filter = func(link packetfile.LinkType) (packetfile.Matcher, error) {
		f, err := compileFilter(ctx, c.Expression, link)
		if err != nil {
			return nil, err
		}
		return f.Matches, nil
	}
	_, err := c.Filter(packetfile.Ethernet)
	return c, err
}

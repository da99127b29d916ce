package analyze

import (
	"fmt"
	"os"
	"slices"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// point is where one of the two captures was taken: its files, and which of their packets.
type point struct {
	files  []string
	choice packetfile.Choice
}

func (o *Options) points() [2]point {
	return [2]point{
		{append([]string{o.Pre}, o.PreMore...), o.PreChoice},
		{append([]string{o.Post}, o.PostMore...), o.PostChoice},
	}
}

// name names a point in what is said of it.
func (p point) name() string {
	name := p.files[0]
	if n := len(p.files) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	if !p.choice.All() {
		name += fmt.Sprintf(" (%s)", p.choice)
	}
	return name
}

// sameFile returns a file of both points; empty if there is none.
func sameFile(a, b point) string {
	for _, one := range a.files {
		info, err := os.Stat(one)
		if err == nil && slices.ContainsFunc(b.files, func(path string) bool {
			other, err := os.Stat(path)
			return err == nil && os.SameFile(info, other)
		}) {
			return one
		}
	}
	return ""
}

// open opens the files of both points, and refuses the same packets in both roles.
func (a *Analysis) open() error {
	o := &a.Options
	points := o.points()
	var estimate int64
	for i, p := range points {
		r, err := packetfile.OpenSeries(p.files, o.Key == MoonSniff)
		if err != nil {
			return err
		}
		a.whole[i] = &side{path: p.name(), reader: r}
		if err := r.Choose(p.choice); err != nil {
			return err
		}
		estimate = max(estimate, estimatePackets(r))
	}
	if both := sameFile(points[0], points[1]); both != "" && points[0].choice.String() == points[1].choice.String() {
		return exit.Wrongf("%s and %s are the same file; name one before and one after the device under test, or if both points are in it, choose them by --pre-interface and --post-interface%s",
			both, both, a.whole[0].interfaces())
	}
	if err := a.chooseKey(); err != nil {
		return err
	}
	for _, s := range a.whole {
		s.begin(partitionBits(estimate), newFlowTable(a.extract))
	}
	a.whole[1].offsetNs = o.Offset.Nanoseconds()
	return nil
}

// interfaces lists those that a file describes before its first packet.
func (s *side) interfaces() string {
	all := s.reader.Info().Interfaces
	if len(all) < 2 {
		return ""
	}
	text := "; its interfaces:"
	for i, of := range all {
		text += fmt.Sprintf(" %d", i)
		if of.Name != "" {
			text += fmt.Sprintf(" %q", of.Name)
		}
	}
	return text
}

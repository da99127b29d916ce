package analyze

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/analyze/clock"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
)

// Options say what to evaluate, and how.
type Options struct {
	Pre, Post string
	// PreMore and PostMore are the further files of each, such as those of a capture that was rotated.
	PreMore, PostMore []string
	// PreChoice and PostChoice say which packets of the files count.
	PreChoice, PostChoice packetfile.Choice
	// Key identifies a packet; empty: MoonSniff for .mscap files, else Content.
	Key Key
	// Depth is how many bytes of a frame the key Content covers, if its headers are those of Ethernet
	// without tags and IPv4 without options; 0: 64, WholePacket: all.
	Depth int
	// Trim leaves out arrivals until this long after POST's first packet; whole milliseconds.
	Trim time.Duration
	// Offset is added to POST's times, if its clock is known to be behind by this much.
	Offset time.Duration
	// FollowClock takes the movement of the clocks against each other off the times of arrival: what clock.Estimate.Moved
	// says of a drift, steps and a wander.
	FollowClock bool
	// Window is how late a packet may arrive: less than this. It also tells packets with the same key
	// apart, if they are so far from each other. 0: 5 s.
	Window time.Duration
	// OneWay says that all packets pass PRE first, also those between the same hosts in opposite
	// directions.
	OneWay bool
	// Progress receives the progress of a stage; may be nil. Several goroutines call it.
	Progress func(stage string, done, size int64)
}

// Source is one of the two captures.
type Source struct {
	Path    string
	Packets uint64
	// FirstNs and LastNs are the times of the first and the last packet, with a requested offset.
	FirstNs, LastNs int64
	Info            packetfile.Info
	Seen            packetfile.Seen
	Damage          *packetfile.Damage // nil: undamaged
	Remarks         []packetfile.Remark
	// FrameBytes is the length of every packet on the wire without FCS; 0 if they differ.
	FrameBytes int
}

// Analysis is an evaluated pair. Close frees its memory, which is outside Go's heap.
type Analysis struct {
	Options   Options
	Pre, Post Source
	// TickNs is the step of the times: no latency is known better than to ± one of them.
	TickNs int64
	// Direction are the packets that pass PRE first.
	Direction
	// Back are those that pass POST first; nil if there are none.
	Back *Direction
	// Changes are what differs between the captures of the same packet.
	Changes []Change
	// Offset is what packets in both directions tell about the clocks; nil if all go in one.
	Offset *clock.Offset

	// shifted is the offset that packets in both directions suggest, which are all late, or all
	// early; nil: none.
	shifted *clock.Offset
	// cutIn is the capture that limits the depth of the key; empty: none.
	cutIn   string
	whole   [2]*side // PRE and POST
	extract *extractor
}

// Analyze reads and evaluates a pair. It returns a *PairError if the two files do not belong
// together.
func Analyze(ctx context.Context, o Options) (*Analysis, error) {
	if o.Trim < 0 || o.Trim > maxOffset || o.Trim%time.Millisecond != 0 {
		return nil, exit.Wrongf("a trim of %v: use whole milliseconds, as in the files' names", o.Trim)
	}
	if o.Offset > maxOffset || o.Offset < -maxOffset {
		return nil, exit.Wrongf("an offset of %v: no two clocks are that far apart", o.Offset)
	}
	if o.Window == 0 {
		o.Window = usualWindow
	}
	if o.Window < 0 || o.Window > maxOffset {
		return nil, exit.Wrongf("a window of %v: no packet is on its way for so long", o.Window)
	}
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	a := &Analysis{Options: o}
	if err := a.analyze(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Analysis) analyze(ctx context.Context) (err error) {
	if err := a.open(); err != nil {
		return err
	}
	if err := a.load(ctx); err != nil {
		return err
	}
	if a.Direction, err = a.match(ctx, a.whole[0], a.whole[1]); err != nil {
		return err
	}
	if err := a.divide(ctx); err != nil {
		return err
	}
	if a.Counts.Pairs == 0 {
		a.leaveOutSegmented()
		return a.noPair()
	}
	pre, post := a.Pre.span(0), a.Post.span(a.Options.Offset.Nanoseconds())
	a.Direction.account(pre, post)
	if a.Back != nil {
		a.Back.account(post, pre)
	}
	a.Options.Progress("evaluating", 0, 0)
	if err := a.Direction.evaluate(ctx, a.Post.FirstNs+a.trimNs, a.Options.FollowClock); err != nil {
		return err
	}
	if a.sameTimes() && a.TickNs == 1 {
		return exit.Wrongf("%s", a.copies())
	}
	if a.Evaluation.Pairs == 0 {
		return exit.Wrongf("a trim of %v leaves none of %d pairs", a.Options.Trim, a.Counts.Pairs)
	}
	if a.Back != nil {
		if err := a.Back.evaluate(ctx, a.Pre.FirstNs+a.trimNs, a.Options.FollowClock); err != nil {
			return err
		}
		a.Offset = a.offset()
	}
	return a.worstKeys(ctx)
}

// Directions returns those that have packets, from PRE to POST first.
func (a *Analysis) Directions() []*Direction {
	if a.Back == nil {
		return []*Direction{&a.Direction}
	}
	return []*Direction{&a.Direction, a.Back}
}

// Close frees memory and closes files.
func (a *Analysis) Close() error {
	var errs []error
	for _, s := range a.whole {
		if s != nil {
			s.free()
			errs = append(errs, s.reader.Close())
		}
	}
	for _, d := range a.Directions() {
		d.free()
	}
	return errors.Join(errs...)
}

// chooseKey takes the ids of files that have nothing else.
func (a *Analysis) chooseKey() error {
	o := &a.Options
	ids := false
	for _, s := range a.whole {
		ids = ids || s.reader.Info().Format == packetfile.MoonSniff
	}
	if o.Key == "" {
		o.Key = Content
		if ids {
			o.Key = MoonSniff
		}
	}
	if ids && o.Key != MoonSniff {
		return exit.Wrongf("an .mscap file has ids only, which the key %q does not read; remove --key, or use --key moonsniff", o.Key)
	}
	if o.Depth == 0 {
		o.Depth = usualDepth
	} else if o.Key != Content {
		return exit.Wrongf("the key %q has no depth; --depth requires --key content", o.Key)
	}
	if o.Depth < leastDepth {
		return exit.Wrongf("a depth of %d bytes: the key needs %d, with the IP header", o.Depth, leastDepth)
	}
	a.extract = newExtractor(o.Key, o.Depth)
	if o.Key != Content {
		return nil
	}
	return a.limitDepth()
}

// estimatePackets guesses from a file's size, only to choose the number of partitions.
func estimatePackets(r *packetfile.Reader) int64 {
	_, size := r.Progress()
	switch {
	case r.Info().Format == packetfile.MoonSniff:
		return size / 12
	case r.Info().Compression != packetfile.Plain:
		return size / 12 // as in published captures: 10 bytes a packet
	}
	return size / 100
}

// partitionBits sizes partitions so that their tables fit into a core's own cache: about 2^16
// packets, with 16 bytes each for entry and slots. More than 2^11 partitions would be slower to
// fill, because the writes alternate between that many places in memory.
func partitionBits(packets int64) uint {
	return min(max(uint(bits.Len64(uint64(packets)>>16)), 4), 11)
}

// load reads both captures side by side.
func (a *Analysis) load(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	room := newAllowance(availableMemory())
	var lock sync.Mutex
	var done, size [2]int64
	var errs [2]error
	var both sync.WaitGroup
	for i, s := range a.whole {
		l := loading{extract: a.extract, room: room, progress: func(d, n int64) {
			lock.Lock()
			done[i], size[i] = d, n
			d, n = done[0]+done[1], max(size[0], 1)+max(size[1], 1)
			lock.Unlock()
			a.Options.Progress("reading", d, n)
		}}
		both.Go(func() {
			if errs[i] = s.load(ctx, l); errs[i] != nil {
				cancel()
			}
		})
	}
	both.Wait()
	// The other one was cancelled, which is no error.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if err := errors.Join(errs[0], errs[1]); err != nil {
		return err
	}
	for _, s := range a.whole {
		if s.count == 0 {
			return a.noPacket(s)
		}
	}
	a.TickNs = a.evenTicks()
	a.Changes = changes(&a.whole[0].sample, &a.whole[1].sample, a.haveMACs())
	a.Pre, a.Post = a.whole[0].source(), a.whole[1].source()
	a.whole[0].order()
	return nil
}

// haveMACs reports whether both captures have only Ethernet frames.
func (a *Analysis) haveMACs() bool {
	for _, s := range a.whole {
		for _, i := range s.reader.Info().Interfaces {
			if i.LinkType != packetfile.Ethernet {
				return false
			}
		}
	}
	return true
}

func (s *side) source() Source {
	first, last := s.timesNs()[0], s.timesNs()[s.count-1]
	if s.seen.Backwards > 0 || s.seen.Untimed > 0 {
		first, last = slices.Min(s.timesNs()), slices.Max(s.timesNs())
	}
	return Source{
		Path: s.path, Packets: uint64(s.count), FirstNs: first, LastNs: last,
		Info: s.reader.Info(), Seen: s.seen, Damage: s.damage, Remarks: s.remarks, FrameBytes: int(s.length.same()),
	}
}

// worstKeys reads PRE again for the keys of the slowest packets: keeping all keys would take more
// memory than everything else. No file has the keys of those that pass POST first.
func (a *Analysis) worstKeys(ctx context.Context) error {
	type place struct {
		number uint64 // in the file
		worst  *Worst
	}
	wanted := make([]place, 0, len(a.Worst))
	for i := range a.Worst {
		w := &a.Worst[i]
		wanted = append(wanted, place{w.Number, w})
	}
	slices.SortFunc(wanted, func(a, b place) int { return cmp.Compare(a.number, b.number) })
	if err := a.pre.reader.Rewind(); err != nil {
		return err
	}
	batch := make([]packetfile.Packet, batchPackets)
	for len(wanted) > 0 {
		err := a.pre.reader.SkipTo(wanted[0].number)
		var n int
		if err == nil {
			n, err = a.pre.reader.NextBatch(batch)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w; check whether it has changed", a.Options.Pre, err)
		}
		for len(wanted) > 0 && wanted[0].number <= batch[n-1].Number {
			at, _ := slices.BinarySearchFunc(batch[:n], wanted[0].number, func(p packetfile.Packet, number uint64) int { return cmp.Compare(p.Number, number) })
			p := &batch[at]
			a.identify(wanted[0].worst, a.pre.reader.Info().Interfaces[p.Interface].LinkType, p.Data)
			wanted = wanted[1:]
		}
		done, size := a.pre.reader.Progress()
		a.Options.Progress("reading the keys of the slowest packets", done, size)
	}
	return nil
}

func (a *Analysis) identify(w *Worst, link packetfile.LinkType, data []byte) {
	w.Key = a.extract.bytes(link, data)
	w.hash, _ = a.extract.of(plainnessOf(link, data), link, data)
	f := dissect(link, data)
	w.Flow = endpointsOf(&f).String() // with ports, which a table of many flows leaves out
	if a.Options.Key.readsID() && len(w.Key) >= 4 {
		w.ID = binary.LittleEndian.Uint32(w.Key)
	}
}

// WritePublished writes the published evaluation's files into a folder and returns their paths.
// Either all of them appear, or none.
func (a *Analysis) WritePublished(ctx context.Context, dir string, without map[File]bool) ([]string, error) {
	p := publisher{dir: dir, capture: filepath.Base(a.Options.Pre), trimMs: a.Options.Trim.Milliseconds(), without: without}
	return p.write(ctx, a.Evaluation, a.pairs())
}

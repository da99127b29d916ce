package synthetic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"nines.dev/nines/analyze/packetfile"
)

// arrival is a packet on its way to the second capture point.
type arrival struct {
	atNs   int64 // by the first point's clock
	sentNs int64
	number uint64
	copied bool
}

// point is one capture point.
type point struct {
	out    *packetfile.Writer
	frames *frames
	link   packetfile.LinkType
	snap   uint32
	idOnly bool
	id     [4]byte
}

func newPoint(c Config, out *packetfile.Writer, second bool) (*point, error) {
	i := out.Layout().Interfaces[0]
	p := &point{out: out, frames: newFrames(c, second), link: i.LinkType, snap: i.SnapLength, idOnly: out.Layout().Format == packetfile.MoonSniff}
	if !p.idOnly {
		if _, err := p.frames.on(p.link, &p.frames.templates[0][0]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// capture writes a packet and returns the time as a reader will find it.
func (p *point) capture(atNs int64, number uint64, id uint32, sentNs int64) (int64, error) {
	if atNs < 0 {
		return 0, fmt.Errorf("packet %d would be captured %d ns before 1970", number, -atNs)
	}
	packet := packetfile.Packet{TimeNs: atNs}
	if p.idOnly {
		binary.LittleEndian.PutUint32(p.id[:], id)
		packet.Data = p.id[:]
	} else {
		data, err := p.frames.on(p.link, p.frames.frame(number, id, sentNs))
		if err != nil {
			return 0, err
		}
		packet.Data, packet.Length = data, uint32(len(data))
		if p.snap > 0 && packet.Length > p.snap {
			packet.Data = data[:p.snap]
		}
	}
	return p.out.Stamp(packet), p.out.Write(packet)
}

// generator is the state while generating a pair.
type generator struct {
	Config
	truth     Truth
	random    *rand.Rand
	pre, post *point
	way       arrivals
	lastNs    int64 // arrival of the last packet that was not reordered
	newest    uint64
	any       bool // any packet has arrived
	losing    bool
}

// Generate writes a pair of captures and returns the truth. The caller must flush the writers.
func Generate(c Config, pre, post *packetfile.Writer) (Truth, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Truth{}, err
	}
	g := &generator{Config: c, random: rand.New(rand.NewPCG(c.Seed, 0x6e696e6573))}
	if g.pre, err = newPoint(c, pre, false); err != nil {
		return Truth{}, err
	}
	if g.post, err = newPoint(c, post, true); err != nil {
		return Truth{}, err
	}
	if c.Keep {
		g.truth.SentNs = make([]int64, c.Packets)
		g.truth.LatencyNs = make([]int64, c.Packets)
		for i := range g.truth.LatencyNs {
			g.truth.LatencyNs[i] = Lost
		}
	}
	nowNs := c.StartNs
	for number := range c.Packets {
		if err := g.arrive(nowNs); err != nil {
			return Truth{}, err
		}
		if err := g.send(number, nowNs); err != nil {
			return Truth{}, err
		}
		nowNs += g.gap(number)
	}
	for len(g.way) > 0 {
		if err := g.arrive(g.way[0].atNs); err != nil {
			return Truth{}, err
		}
	}
	g.truth.Lost = g.truth.Sent - g.truth.Received
	return g.truth, nil
}

func (g *generator) gap(number uint64) int64 {
	gap := g.GapNs
	if g.Poisson {
		gap = int64(g.random.ExpFloat64() * float64(g.GapNs))
	}
	if g.PauseEvery > 0 && (number+1)%g.PauseEvery == 0 {
		gap += g.PauseNs
	}
	return gap
}

func (g *generator) id(number uint64) uint32 {
	id := uint64(g.FirstID) + number
	if g.IDModulo > 0 {
		id %= uint64(g.IDModulo)
	}
	return uint32(id)
}

// chance is true with the given probability.
func (g *generator) chance(ratio float64) bool { return ratio > 0 && g.random.Float64() < ratio }

func (g *generator) send(number uint64, nowNs int64) error {
	stamp, err := g.pre.capture(nowNs, number, g.id(number), nowNs)
	if err != nil {
		return err
	}
	g.truth.Sent++
	g.truth.Pre++
	if g.Keep {
		g.truth.SentNs[number] = stamp
	}
	if g.chance(g.DuplicatePre) {
		if _, err := g.pre.capture(nowNs, number, g.id(number), nowNs); err != nil {
			return err
		}
		g.truth.Pre++
		g.truth.DuplicatesPre++
	}
	if g.lose() {
		return nil
	}
	atNs := nowNs + g.latency()
	if g.chance(g.ReorderRatio) {
		atNs += g.ReorderNs
	} else {
		atNs = max(atNs, g.lastNs)
		g.lastNs = atNs
	}
	g.way.push(arrival{atNs: atNs, sentNs: nowNs, number: number})
	if g.chance(g.DuplicatePost) {
		g.way.push(arrival{atNs: atNs + g.GapNs/2 + 1, sentNs: nowNs, number: number, copied: true})
	}
	return nil
}

// lose reports whether the next packet is lost: in runs with geometric lengths of mean LossRun
// (Gilbert's model), often enough for LossRatio.
func (g *generator) lose() bool {
	switch {
	case g.LossRatio == 0:
		return false
	case g.LossRatio == 1:
		return true
	case g.losing:
		g.losing = !g.chance(1 / g.LossRun)
	default:
		g.losing = g.chance(min(1, g.LossRatio/(1-g.LossRatio)/g.LossRun))
	}
	return g.losing
}

func (g *generator) latency() int64 {
	l := g.LatencyNs
	if g.JitterNs > 0 {
		l += int64(g.random.ExpFloat64() * float64(g.JitterNs))
	}
	if g.chance(g.TailRatio) {
		l += int64(g.random.Float64() * float64(g.TailNs))
	}
	return l
}

// arrive captures everything that arrives up to a time.
func (g *generator) arrive(untilNs int64) error {
	for len(g.way) > 0 && g.way[0].atNs <= untilNs {
		a := g.way.pop()
		clock := a.atNs + g.OffsetNs
		if g.DriftPPM != 0 {
			clock += int64(float64(a.atNs-g.StartNs) * g.DriftPPM / 1e6)
		}
		if g.PostStepNs != 0 && g.truth.Sent > g.PostStepAfter {
			clock += g.PostStepNs
		}
		stamp, err := g.post.capture(clock, a.number, g.id(a.number), a.sentNs)
		if err != nil {
			return err
		}
		g.truth.Post++
		if a.copied {
			g.truth.DuplicatesPost++
			continue
		}
		g.truth.Received++
		if g.any && a.number < g.newest {
			g.truth.Reordered++
		}
		g.newest, g.any = max(g.newest, a.number), true
		if g.Keep {
			g.truth.LatencyNs[a.number] = stamp - g.truth.SentNs[a.number]
		}
	}
	return nil
}

// arrivals is a heap, next arrival first; of simultaneous arrivals, the one sent first.
type arrivals []arrival

func (h arrivals) less(i, j int) bool {
	if h[i].atNs != h[j].atNs {
		return h[i].atNs < h[j].atNs
	}
	return h[i].number < h[j].number
}

func (h *arrivals) push(a arrival) {
	*h = append(*h, a)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.less(i, parent) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *arrivals) pop() arrival {
	s := *h
	first := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && s.less(child+1, child) {
			child++
		}
		if !s.less(child, i) {
			return first
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}

package analyze

// lag is how much later packets are in one capture than in the other, by the two clocks.
type lag struct {
	packets         uint64
	leastNs, mostNs int64
}

func (l *lag) add(ns int64) { l.merge(lag{1, ns, ns}) }

func (l *lag) merge(o lag) {
	switch {
	case o.packets == 0:
	case l.packets == 0:
		*l = o
	default:
		l.packets += o.packets
		l.leastNs, l.mostNs = min(l.leastNs, o.leastNs), max(l.mostNs, o.mostNs)
	}
}

// apart are the lags of packets found in both captures whose times do not fit, by flow. The last
// are those of packets without a flow.
type apart struct{ early, late []lag }

func newApart(t *flowTable) apart {
	n := len(t.flows) + 1
	return apart{make([]lag, n), make([]lag, n)}
}

func (a *apart) index(flow uint16) int { return min(int(flow), len(a.early)-1) }

func (a *apart) merge(o apart) {
	for i := range o.early {
		a.early[i].merge(o.early[i])
		a.late[i].merge(o.late[i])
	}
}

// together are the lags of all flows.
func together(of []lag) (all lag) {
	for _, l := range of {
		all.merge(l)
	}
	return all
}

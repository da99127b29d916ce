package result

// complete replaces nil lists by empty ones, so that JSON has [] instead of null.
func (c *Causes) complete() {
	c.Schema = CausesSchema
	if c.Ranking == nil {
		c.Ranking = []RankedCause{}
	}
	if c.Packets == nil {
		c.Packets = []PacketCauses{}
	}
	for i := range c.Packets {
		p := &c.Packets[i]
		if p.Phases == nil {
			p.Phases = []PhaseCauses{}
		}
		for n := range p.Phases {
			if p.Phases[n].Causes == nil {
				p.Phases[n].Causes = []CauseShare{}
			}
		}
	}
}

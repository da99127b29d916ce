package lab

import "nines.dev/nines/lab/link"

// mergedSettings are the earlier settings whose devices are still in the plan, with the new ones.
func (b *builder) mergedSettings() []link.Setting {
	type key struct{ node, link, device string }
	wanted := map[key]bool{}
	for _, l := range b.Plan().Links {
		wanted[key{"", l.Name, l.Device}] = true
		for _, e := range l.Endpoints {
			wanted[key{"", l.Name, e.FabricDevice}] = true
			wanted[key{e.Node, l.Name, e.Interface}] = true
		}
	}
	merged := b.site.Settings()
	have := map[key]bool{}
	for _, s := range merged {
		have[key{s.Node, s.Link, s.Device}] = true
	}
	for _, s := range b.Settings() {
		if k := (key{s.Node, s.Link, s.Device}); wanted[k] && !have[k] {
			merged = append(merged, s)
		}
	}
	return merged
}

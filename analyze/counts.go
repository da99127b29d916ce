package analyze

// Counts says what happened to the packets' keys.
type Counts struct {
	// Pairs is the number of pairs, including repeated arrivals, which Again counts.
	Pairs uint64 `json:"pairs"`
	Again uint64 `json:"again_packets"`
	// PreAmbiguous and PostAmbiguous are packets whose key several packets of PRE share, so they
	// belong to no pair.
	PreAmbiguous  uint64 `json:"pre_ambiguous_packets"`
	PostAmbiguous uint64 `json:"post_ambiguous_packets"`
	// PreCopies are packets of PRE that are copies of others, and left out.
	PreCopies uint64 `json:"pre_copies_packets"`
	// PreUnkeyed and PostUnkeyed are packets without a key, such as ARP with an id key.
	PreUnkeyed  uint64 `json:"pre_unkeyed_packets"`
	PostUnkeyed uint64 `json:"post_unkeyed_packets"`
	// PostUnknown are packets of POST whose key no packet of PRE has.
	PostUnknown uint64 `json:"post_unknown_packets"`
	// Early and Late are packets of POST whose key fits but whose time does not: before the time in
	// PRE, or later by the window or more.
	Early uint64 `json:"early_packets"`
	Late  uint64 `json:"late_packets"`
	// PreEarly are packets of PRE that are in POST only before their time in PRE. They are not lost.
	PreEarly uint64 `json:"pre_early_packets"`
	// Untimed are packets in both captures of which one has no time.
	Untimed uint64 `json:"untimed_packets"`
	// PreForeign and PostForeign are packets between hosts of which the other capture has none.
	PreForeign  uint64 `json:"pre_foreign_packets"`
	PostForeign uint64 `json:"post_foreign_packets"`
	// PreSegmented and PostSegmented are TCP packets that were cut or joined between the captures.
	PreSegmented  uint64 `json:"pre_segmented_packets"`
	PostSegmented uint64 `json:"post_segmented_packets"`
	// Outside are packets of PRE that were due while POST did not capture. OutsideOrLost are those
	// due before POST's first packet or after its last, where POST does not say when it captured.
	Outside       uint64 `json:"outside_packets"`
	OutsideOrLost uint64 `json:"outside_or_lost_packets"`
	// PostOutside are packets of POST sent before PRE's first or after its last.
	PostOutside uint64 `json:"post_outside_packets"`
	// Lost are packets of PRE that do not appear in POST, or too late. With OutsideOrLost, they are
	// at least those that were lost.
	Lost uint64 `json:"lost_packets"`
}

// leftOut are packets of PRE that are neither in a pair nor lost.
func (c *Counts) leftOut() uint64 {
	return c.PreAmbiguous + c.PreUnkeyed + c.PreEarly + c.PreForeign + c.PreSegmented + c.Outside + c.OutsideOrLost + c.Untimed + c.PreCopies
}

func (c *Counts) add(o Counts) {
	c.Pairs += o.Pairs
	c.Again += o.Again
	c.PreAmbiguous += o.PreAmbiguous
	c.PreCopies += o.PreCopies
	c.PostAmbiguous += o.PostAmbiguous
	c.PostUnknown += o.PostUnknown
	c.Early += o.Early
	c.Late += o.Late
	c.Untimed += o.Untimed
	c.Lost += o.Lost
}

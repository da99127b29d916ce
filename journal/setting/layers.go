package setting

// Several can set one file of a host at the same time, such as nines tune and a lab that isolates
// its CPUs. If each restored what it had found, the first to end would overwrite the other's value,
// and the last to end would restore the first one's value. So a ledger (ledger.go) records
// what all of them have set, in order, as layers. Each removes only its own layer. If that is the
// topmost, the file is restored; otherwise only the ledger changes, and the layer above takes over
// the old value.

// layer is one step's value of a file.
type layer struct {
	// Owner is the step's token, and By its lab, for messages.
	Owner string `json:"owner"`
	By    string `json:"by"`
	// Old is what the file held before, Value is what was written, and Took is what the
	// kernel stored for it; empty until that is known.
	Old   string `json:"old"`
	Value string `json:"value"`
	Took  string `json:"took,omitempty"`
}

// holds returns true if a file's text is what the layer set.
func (l layer) holds(text string, same func(a, b string) bool) bool {
	return same(text, l.Value) || l.Took != "" && same(text, l.Took)
}

// withdrawal is the result of removing a layer.
type withdrawal struct {
	Rest []layer
	// Write is the new content of the file; nil leaves it unchanged.
	Write *string
	// Covered is the layer above, whose value stays in force; nil if there is none.
	Covered *layer
	// Changed is true if another program has set the file since then; it is then left unchanged.
	Changed bool
}

// withdraw removes an owner's layer from a file's layers, where now is what the file holds. It is
// pure, and does nothing for an owner without a layer.
func withdraw(list []layer, owner, now string, same func(a, b string) bool) withdrawal {
	w := withdrawal{}
	for i, l := range list {
		if l.Owner != owner {
			w.Rest = append(w.Rest, l)
			continue
		}
		if i+1 < len(list) {
			above := list[i+1]
			if l.holds(above.Old, same) { // otherwise another program has set it in between
				above.Old = l.Old
			}
			w.Rest = append(w.Rest, above)
			w.Rest = append(w.Rest, list[i+2:]...)
			w.Covered = &list[len(list)-1]
			return w
		}
		switch {
		case l.holds(now, same):
			w.Write = &l.Old
		case !same(now, l.Old):
			w.Changed = true
		}
	}
	return w
}

package setting

// Several can set one file of a host at once: nines tune, and a lab that isolates its
// CPUs. Each would write down what it found, and who goes first would put that back under
// the other's feet, and who goes last the first one's value. So a ledger, ledger.go, has
// what all of them have set, in the order of their coming, and each takes out only its own
// layer: the topmost is undone in the file, another one in the ledger alone, and what it
// found is handed up to the one that lies on it.

// layer is one step's value of a file.
type layer struct {
	// Owner is the step's token, By its lab for people.
	Owner string `json:"owner"`
	By    string `json:"by"`
	// Old is what the file held before, Value what was written, and Took what the kernel
	// made of that; empty until it is known.
	Old   string `json:"old"`
	Value string `json:"value"`
	Took  string `json:"took,omitempty"`
}

// holds is true if a file's text is what the layer made it.
func (l layer) holds(text string, same func(a, b string) bool) bool {
	return same(text, l.Value) || l.Took != "" && same(text, l.Took)
}

// withdrawal is what taking out a layer asks for.
type withdrawal struct {
	Rest []layer
	// Write is what the file is to hold then; nil leaves it.
	Write *string
	// Covered is the layer above, whose value stays in force; nil if there is none.
	Covered *layer
	// Changed is true if somebody else has set the file since, which is left alone.
	Changed bool
}

// withdraw takes an owner's layer out of a file's, which holds now. It is pure, and does
// nothing for an owner that has none.
func withdraw(list []layer, owner, now string, same func(a, b string) bool) withdrawal {
	w := withdrawal{}
	for i, l := range list {
		if l.Owner != owner {
			w.Rest = append(w.Rest, l)
			continue
		}
		if i+1 < len(list) {
			above := list[i+1]
			if l.holds(above.Old, same) { // else somebody set it in between
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

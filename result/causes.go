package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Causes reads causes.json; nil if the trial was not recorded.
func (f Folder) Causes() (*Causes, error) {
	causes, err := readFolderFile(f, CausesFile, readCauses)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return causes, err
}

func readCauses(r io.Reader) (*Causes, error) {
	var causes Causes
	if err := json.NewDecoder(r).Decode(&causes); err != nil {
		return nil, err
	}
	if causes.Schema != CausesSchema {
		return nil, fmt.Errorf("its schema is %q, not %q", causes.Schema, CausesSchema)
	}
	return &causes, nil
}

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

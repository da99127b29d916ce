package plan

import (
	"fmt"

	"nines.dev/nines/terminal"
)

// writeEvents lists what happens in every trial.
func (p *Plan) writeEvents(t *terminal.Table) {
	if len(p.Events) == 0 {
		return
	}
	t.Row()
	t.Row("EVENT", "WHAT HAPPENS")
	for i, event := range p.Events {
		t.Row(fmt.Sprint(i+1), event)
	}
}

package traffic

import (
	"testing"

	"nines.dev/nines/engine/client"
)

// TestAPairTellsOfSecondsThatBothHaveTold: packets that one half has sent are not lost because the other is late to tell.
func TestAPairTellsOfSecondsThatBothHaveTold(t *testing.T) {
	var told []Progress
	both := (&Generator{}).telling(func(p Progress) { told = append(told, p) })
	sent, received := both.sender(), both.receiver()
	sent(client.Progress{Second: 1, Offered: 10, Sent: 10})
	sent(client.Progress{Second: 2, Offered: 10, Sent: 9})
	if len(told) != 0 {
		t.Fatalf("told %+v", told)
	}
	received(client.Progress{Second: 1, Received: 8})
	received(client.Progress{Second: 2, Received: 11})
	received(client.Progress{Second: 3, Received: 1})
	if len(told) != 2 || told[0].Sent != 10 || told[0].Received != 8 || told[1].Offered != 20 || told[1].Sent != 19 || told[1].Received != 19 || told[1].Second != 2 {
		t.Errorf("told %+v", told)
	}
	if err := both.end(); err != nil {
		t.Error(err)
	}
	var nobody *telling
	if nobody.whole() != nil || nobody.end() != nil {
		t.Error("nobody listens")
	}
}

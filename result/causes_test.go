package result

import "testing"

func TestCausesAreReadAsTheyWereWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	lift, hog := 12.5, Cause{Kind: "hog", Name: "make", CPU: 1}
	r.Causes = &Causes{
		Ordinary: 3, Notes: []string{"7 events were lost"},
		Ranking: []RankedCause{{Cause: hog, Packets: 2, Present: 3, TotalNs: 900, Lift: &lift, Sentence: "made", Remedy: "isolate"}},
		Packets: []PacketCauses{{ID: 7, LatencyNs: 300, Phases: []PhaseCauses{
			{Phase: PhaseSend, BeginNs: 10, EndNs: 20, Causes: []CauseShare{{Cause: hog, Ns: 4}}, OrdinaryNs: 1, UnexplainedNs: 5},
			{Phase: PhaseTransit, BeginNs: 20, EndNs: 20},
		}}},
	}
	keptAsWritten(t, w, r, CausesFile, Folder.Causes, r.Causes, CausesSchema, "causes")
}

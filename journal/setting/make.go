package setting

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/fault"
	"nines.dev/nines/journal"
)

// Make writes a step's value to the setting's file through the journal, and returns what the
// kernel stored. If the file already holds the value, Make writes nothing and changed is false.
//
// A step with a Target, which is a ledger such as HostLedger, shares the file with all other
// steps that name this ledger: they can end in any order, and the last one restores what the
// file held before the first. If the file already holds the value because other steps set it,
// the ledger records this step too, since the others may end first.
func Make(j *journal.Journal, step journal.Step) (now string, changed bool, err error) {
	step.Kind = Kind
	if step.Target == "" {
		return makeStep(j, step, nil)
	}
	if step.Token == "" {
		token := make([]byte, 8)
		_, _ = rand.Read(token) // never fails, crypto/rand
		step.Token = j.Token("setting/" + hex.EncodeToString(token))
	}
	err = withLedger(step.Target, func(shared *lockedLedger) error {
		now, changed, err = makeStep(j, step, shared)
		return err
	})
	return now, changed, err
}

func makeStep(j *journal.Journal, step journal.Step, shared *lockedLedger) (now string, changed bool, err error) {
	file := settingOf(step)
	if step.Old, err = file.read(); err != nil {
		return "", false, err
	}
	there := file.same(step.Old, step.Value)
	if there && (shared == nil || len(shared.Files[file.key()]) == 0 || hasMade(j, step)) {
		return step.Old, false, nil
	}
	id, err := j.Begin(step)
	if err != nil {
		return step.Old, false, err
	}
	mine := layer{Owner: step.Token, By: holder(j.Header), Old: step.Old, Value: step.Value}
	if err := shared.put(file.key(), mine); err != nil {
		j.Forget(id)
		return step.Old, false, err
	}
	if there {
		return step.Old, false, j.Done(id, journal.Learnt{Took: step.Old})
	}
	fault.Point("before a setting")
	if err := file.write(step.Value); err != nil {
		err = errors.Join(&RefusedError{Path: step.Path, Value: step.Value, Err: err}, shared.drop(file.key(), step.Token))
		j.Forget(id)
		return step.Old, false, err
	}
	fault.Point("after a setting")
	if now, err = file.read(); err != nil {
		return "", false, err
	}
	mine.Took = now
	if err := shared.put(file.key(), mine); err != nil {
		return now, true, err
	}
	return now, true, j.Done(id, journal.Learnt{Took: now})
}

// hasMade returns true if the journal already has such a step, for example when a lab is updated.
func hasMade(j *journal.Journal, step journal.Step) bool {
	return slices.ContainsFunc(j.Entries(), func(e journal.Entry) bool {
		return e.Kind == step.Kind && e.Path == step.Path && e.Value == step.Value && e.Name == step.Name && e.Link == step.Link
	})
}

// holder names a journal's owner for messages. These have no prefix: nines tune, the sessions of nines kbp
// ("kbp/NAME"), clusters ("cluster/NAME"), and what an agent reserves for pods ("apart/NAME").
func holder(h journal.Header) string {
	if session, found := strings.CutPrefix(h.Lab, "kbp/"); found {
		return fmt.Sprintf("session %q of nines kbp", session)
	}
	if cluster, found := strings.CutPrefix(h.Lab, "cluster/"); found {
		return fmt.Sprintf("cluster %q", cluster)
	}
	if strings.HasPrefix(h.Lab, "apart/") {
		return "nines' agent, for pods of this Kubernetes node,"
	}
	if h.Prefix == "" {
		return "nines tune apply"
	}
	return fmt.Sprintf("lab %q", h.Lab)
}

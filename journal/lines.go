package journal

import (
	"encoding/json"
	"errors"
	"fmt"
)

// appendLine writes a line after the header, whole or not at all.
func (j *Journal) appendLine(l line) error {
	if j.Header.Form != plainForm {
		l.Number = j.number + 1
	}
	return j.append(l)
}

func (j *Journal) append(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if j.Header.Form == plainForm {
		text = append(text, '\n')
	} else {
		text = seal(text)
	}
	n, err := j.file.Write(text)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, j.file.Truncate(j.size))
		}
		return fmt.Errorf("cannot write to the journal: %w", err)
	}
	j.size += int64(n)
	j.number++
	j.changed = true
	return nil
}

// end writes that the operation has ended, if it has written anything. Without room on the disk the line is
// left out, and the next undo searches. A journal that an earlier operation left without its end stays so.
func (j *Journal) end() {
	if j.changed && !j.suspect && j.appendLine(line{End: true}) == nil {
		j.changed = false
	}
}

package reproduce

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"
)

// Duration is written as "20s" or "2m".
type Duration time.Duration

// UnmarshalYAML reads it.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	read, err := time.ParseDuration(n.Value)
	if err != nil || read <= 0 {
		return fmt.Errorf("line %d: %q is no time; write such as 20s or 2m", n.Line, n.Value)
	}
	*d = Duration(read)
	return nil
}

package spec

// RestartPolicy says when nines starts a node again by itself.
type RestartPolicy string

// The policies. A node that someone has stopped is started again by none of them.
const (
	// RestartNo leaves a node that has ended as it is.
	RestartNo RestartPolicy = "no"
	// RestartOnFailure starts a node again that was killed, failed or became unhealthy.
	RestartOnFailure RestartPolicy = "on-failure"
	// RestartAlways starts also a node again that has ended by itself, without a failure.
	RestartAlways RestartPolicy = "always"
)

// Healthcheck is a command that reports whether a node does its work.
type Healthcheck struct {
	// Exec is the command, an argument list; it runs in the node, and the node is healthy if it ends
	// with 0.
	Exec []string `yaml:"exec" json:"exec"`
	// Interval is the time from the end of one check to the start of the next (default 5s).
	Interval Duration `yaml:"interval,omitempty" json:"interval,omitempty"`
	// Timeout is the longest that a check may take; then it has failed (default 5s).
	Timeout Duration `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	// Retries is how many checks in a row have to fail before the node is unhealthy (default 3).
	Retries int `yaml:"retries,omitempty" json:"retries,omitempty"`
	// StartPeriod is the time after a start in which failed checks do not count, until the first that
	// succeeds (default 0s).
	StartPeriod Duration `yaml:"start_period,omitempty" json:"start_period,omitempty"`
}

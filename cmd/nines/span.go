package main

import (
	"errors"
	"regexp"
	"time"
)

// spanValue is the value of an option that is a span of time, which may be negative. Set, String and
// Type make it a pflag.Value.
type spanValue struct{ span *time.Duration }

// spanUnits are those that it takes, for messages.
const spanUnits = "ns, us, ms, s, min and h, as in 250us, 1.5s or 1min30s"

// minutes are what time.ParseDuration has the unit m for.
var minutes = regexp.MustCompile(`min([0-9.]|$)`)

func (v spanValue) Set(text string) error {
	span, err := time.ParseDuration(minutes.ReplaceAllString(text, "m$1"))
	if err != nil {
		return errors.New("a span of time needs a unit: " + spanUnits)
	}
	*v.span = span
	return nil
}

func (v spanValue) String() string {
	if v.span == nil || *v.span == 0 {
		return ""
	}
	return v.span.String()
}

func (v spanValue) Type() string { return "duration" }

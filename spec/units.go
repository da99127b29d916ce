package spec

import "time"

// Duration is a time span with its unit in the file: "10s", "250us".
type Duration time.Duration

// Size is a number of bytes, written "512MiB" or "4kB".
type Size int64

// BitRate is bits a second, written "1Gbit/s" or "80Mbit/s".
type BitRate float64

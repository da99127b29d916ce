// Package synthetic makes pairs of captures of a network that loses, duplicates, reorders and
// delays packets as configured, between two capture points whose clocks differ. It returns the
// truth along with them, to test readers of captures. It writes as it goes, so a pair may have any
// length, and the same Config gives the same pair.
package synthetic

// Package synthetic makes pairs of captures of a network that does what it is told:
// lose, duplicate, reorder and delay packets, between two capture points whose clocks
// are apart. The truth comes with them, so that whatever reads captures can be held to
// it. It writes as it goes, so a pair may be of any length, and the same Config gives
// the same pair.
package synthetic

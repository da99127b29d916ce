// Package dryrun says what Up would make for a plan, step by step. It makes nothing and does not look at the
// host.
package dryrun

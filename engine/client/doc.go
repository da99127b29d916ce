// Package client speaks the engine's protocol (docs/reference/engine-protocol.md) with one nines-engine, over
// its standard input and output or over its control socket.
//
// A Client is used by one goroutine at a time; only Abort may be called from another while a Trial
// is running. It imports nothing of the project, and needs no privileges except access to the
// engine.
package client

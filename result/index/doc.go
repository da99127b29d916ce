// Package index collects the contents of all result folders in one database, to list, filter and
// query them with SQL: SQLite in a file, or PostgreSQL by URL, with the same schema
// (docs/results-index.md).
//
// The folders are the source of truth. Refresh updates the index: it reads new and changed folders,
// and forgets removed ones. The index can be deleted at any time. Several processes may use one at
// the same time, and one that dies leaves it intact: each result is written in a separate
// transaction.
package index

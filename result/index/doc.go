// Package index keeps what all result folders say in one database, so that they can be
// listed, filtered and asked with SQL: SQLite in a file, or PostgreSQL by URL, with one
// schema (docs/results-index.md).
//
// The folders are the truth. Refresh brings the index up to date with them: what is
// new is read, what has changed is read again, what is gone is forgotten. The index
// can be deleted at any time. Several processes may use one at once, and one that dies
// leaves it whole: each result is written in a transaction of its own.
package index

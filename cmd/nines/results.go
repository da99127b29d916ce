package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"nines.dev/nines/result/index"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

// resultsCall holds the options that all verbs below nines results share.
type resultsCall struct {
	out, index string
}

func newResultsCommand() *cobra.Command {
	var call resultsCall
	c := &cobra.Command{
		Use:   "results",
		Short: "List, filter, query and remove results",
		Long: `Search all results at once. nines indexes their folders in a database: SQLite in the
file results/index.sqlite, or PostgreSQL by URL, with the same tables in both
(docs/results-index.md describes every column with its unit).

The folders are the source of truth. Each of these commands first updates the index: it
reads new and changed folders and forgets removed ones. You can delete the index at any
time.

For PostgreSQL, the environment completes the URL (PGUSER, PGPASSWORD, PGPASSFILE,
PGSSLMODE, …), so the URL need not contain a password. The tables are in the schema
nines. Several hosts can share one database.`,
		Example: `  nines results ls                                    # newest first
  nines results ls --name 'quick*' --var kind=veth --verdict clean
  nines results query "select * from findings where name = 'NDR'"
  nines results ls --index postgres://lab@db.example.org/nines
  nines results rm results/quickstart/2026-11-20T18-30-05Z`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&call.out, "out", "results", "the folder of all results")
	c.PersistentFlags().StringVar(&call.index, "index", os.Getenv("NINES_INDEX"),
		"the index: a SQLite file or postgres://… (default: NINES_INDEX, or index.sqlite below --out)")
	// A URL in the environment may hold a password, which help texts must not show.
	c.PersistentFlags().Lookup("index").DefValue = ""
	c.AddCommand(newResultsIndexCommand(&call), newResultsListCommand(&call), newResultsQueryCommand(&call),
		newResultsRemoveCommand(&call), newResultsShowCommand(&call))
	return c
}

// open opens the index and updates it; it writes to words what could not be read. The caller closes
// it.
func (r *resultsCall) open(ctx context.Context, words io.Writer) (*index.Index, error) {
	location, err := index.Locate(r.index, r.out)
	if err != nil {
		return nil, err
	}
	x, err := index.Open(ctx, location, r.out)
	if err != nil {
		return nil, err
	}
	if x.Note != "" {
		terminal.Printf(words, "nines: %s\n", x.Note)
	}
	if _, err := refresh(ctx, x, false, words); err != nil {
		_ = x.Close() // the first error is the one to report
		return nil, err
	}
	return x, nil
}

// refresh updates the index; it writes to words its progress and what could not be read.
func refresh(ctx context.Context, x *index.Index, all bool, words io.Writer) (index.Refreshed, error) {
	progress := newProgressLine(words)
	done, err := x.Refresh(ctx, all, progress.counted("results read"))
	progress.clear()
	if err != nil && ctx.Err() != nil {
		return done, errors.New("interrupted; the index has what was read before")
	}
	for _, skipped := range done.Skipped {
		complain(words, "%s is left out: %s", skipped.Folder, skipped.Reason)
	}
	return done, err
}

func newResultsIndexCommand(call *resultsCall) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "index",
		Short: "Rebuild the index from the result folders",
		Long: `Read every result folder again and rebuild the index. The other commands read only new
and changed folders, judged by the size, time and inode of their files. Use this command
if the index is damaged or belongs to another version of nines.`,
		Example: `  nines results index
  nines results index --out /data/results --index postgres://lab@db.example.org/nines`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return call.reindex(c.Context(), format, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	command.FormatFlag(c, &format)
	return c
}

func (r *resultsCall) reindex(ctx context.Context, format string, stdout, stderr io.Writer) error {
	location, err := index.Locate(r.index, r.out)
	if err != nil {
		return err
	}
	x, err := index.Open(ctx, location, r.out)
	if err != nil {
		removed, failed := index.RemoveBroken(location, err)
		if failed != nil {
			return failed
		}
		if !removed {
			return err
		}
		if x, err = index.Open(ctx, location, r.out); err != nil {
			return err
		}
	}
	defer x.Close()
	if x.Note != "" {
		terminal.Printf(stderr, "nines: %s\n", x.Note)
	}
	done, err := refresh(ctx, x, true, stderr)
	if err != nil {
		return err
	}
	if format == "json" {
		return command.WriteJSON(stdout, done)
	}
	_, err = terminal.Printf(stdout, "%s: %d results read, %d forgotten, %d left out\n", location, done.Read, done.Removed, len(done.Skipped))
	return err
}

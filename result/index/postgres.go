package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"nines.dev/nines/exit"
)

// pgSchema holds our tables, separate from those of other programs in the database. A URL with
// search_path chooses another schema, which must exist.
const pgSchema = "nines"

// connectTimeout limits the wait for a server that does not answer, unless the URL or
// PGCONNECT_TIMEOUT sets another.
const connectTimeout = 15 * time.Second

type postgresBase struct {
	location  Location
	ownSchema bool // the schema is pgSchema, and is created if missing
}

// openPostgres takes what the URL lacks from the environment, like every PostgreSQL client: PGUSER,
// PGPASSWORD, PGPASSFILE, PGSSLMODE and so on.
func (x *Index) openPostgres(ctx context.Context) error {
	base := &postgresBase{location: x.location}
	config, err := pgx.ParseConfig(x.location.url)
	if err != nil {
		return exit.Wrongf("the index %s: %s", x.location, hideSecrets(x.location.url, err.Error()))
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.RuntimeParams["search_path"] == "" {
		config.RuntimeParams["search_path"] = pgSchema
		base.ownSchema = true
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "nines"
	}
	// The simple protocol would run several statements at once.
	if config.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the host's name, under which its results are kept: %w", err)
	}
	x.db = stdlib.OpenDB(*config)
	x.db.SetMaxOpenConns(1)
	x.base, x.store = base, hostname+":"+x.root
	if err := x.db.PingContext(ctx); err != nil {
		_ = x.db.Close()
		return base.explain(fmt.Errorf("the index %s cannot be reached: %w", x.location, err))
	}
	return nil
}

func (p *postgresBase) placeholders(query string) string { return query }

// lock takes an advisory lock, which the end of the transaction releases.
func (p *postgresBase) lock(ctx context.Context, tx *sql.Tx, what string) error {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte("nines/" + what)) // cannot fail
	_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(hash.Sum64()))
	return err
}

func (p *postgresBase) prepare(ctx context.Context, db *sql.DB) error {
	return inTransaction(ctx, db, func(tx *sql.Tx) error {
		if err := p.lock(ctx, tx, "tables"); err != nil {
			return err
		}
		if err := p.makeSchema(ctx, tx); err != nil {
			return err
		}
		var there sql.NullString
		if err := tx.QueryRowContext(ctx, "SELECT CAST(to_regclass('nines_index') AS TEXT)").Scan(&there); err != nil {
			return err
		}
		if !there.Valid {
			return prepareTables(ctx, tx)
		}
		var version int
		if err := tx.QueryRowContext(ctx, "SELECT max(version) FROM nines_index").Scan(&version); err != nil {
			return err
		}
		if version != Version {
			return &VersionError{Location: p.location.String(), Has: version,
				Remedy: "use that version of nines, or another database, or drop the tables (DROP SCHEMA nines CASCADE)"}
		}
		return nil
	})
}

func (p *postgresBase) makeSchema(ctx context.Context, tx *sql.Tx) error {
	if !p.ownSchema {
		return nil
	}
	var there bool
	// Check first: CREATE SCHEMA IF NOT EXISTS needs the permission to create in any case.
	if err := tx.QueryRowContext(ctx, "SELECT to_regnamespace($1) IS NOT NULL", pgSchema).Scan(&there); err != nil || there {
		return err
	}
	_, err := tx.ExecContext(ctx, "CREATE SCHEMA "+pgSchema)
	return err
}

func (p *postgresBase) reader(ctx context.Context, db *sql.DB) (*sql.Conn, func(), error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, p.explain(err)
	}
	return conn, func() { _ = conn.Close() }, nil
}

// explain adds a remedy, and removes the URL's secrets.
func (p *postgresBase) explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if failure := new(pgconn.PgError); errors.As(err, &failure) {
		switch failure.Code { // PostgreSQL's documentation, appendix A
		case "28P01", "28000":
			text += "; give the password in PGPASSWORD or ~/.pgpass"
		case "42501":
			text += "; the user needs the right to make tables: GRANT CREATE ON DATABASE … TO …"
		case "3D000":
			text += "; createdb makes it"
		case "57014":
			text += "; --timeout allows more time"
		}
	}
	return &hiddenError{text: hideSecrets(p.location.url, text), err: err}
}

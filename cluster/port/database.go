package port

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
)

// database is a connection to a database of Open vSwitch or OVN (RFC 7047).
type database struct {
	client.Client
	// of names the database's owner in messages.
	of string
}

// databasePatience limits how long a connection lasts.
const databasePatience = 20 * time.Second

// withDatabase connects to the database with the schema at one of the endpoints, and calls f.
func withDatabase(ctx context.Context, of, schema string, endpoints []string, f func(context.Context, database) error) error {
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	whole, err := model.NewClientDBModel(schema, nil) // this package writes operations itself, and caches no rows
	if err != nil {
		return err
	}
	quiet := logr.Discard()
	options := []client.Option{client.WithLogger(&quiet)}
	for _, endpoint := range endpoints {
		options = append(options, client.WithEndpoint(endpoint))
	}
	c, err := client.NewOVSDBClient(whole, options...)
	if err != nil {
		return err
	}
	if err := c.Connect(ctx); err != nil {
		return &SilentError{Of: of, Endpoints: strings.Join(endpoints, " or "), Err: err}
	}
	defer c.Close()
	return f(ctx, database{Client: c, of: of})
}

// SilentError means that a database does not answer.
type SilentError struct {
	Of, Endpoints string
	Err           error
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("%s's database does not answer at %s: %v", e.Of, e.Endpoints, e.Err)
}

func (e *SilentError) Unwrap() error { return e.Err }

// ourKey marks a row as ours, in its external_ids. Its value says which keeper's port it is: databases survive
// a reboot, and several nodes share one.
const ourKey = "nines-port"

func marked(mark string) ovsdb.OvsMap { return ovsdb.OvsMap{GoMap: map[any]any{ourKey: mark}} }

// NotOursError means that a port with that name exists, but nines did not make it.
type NotOursError struct{ Of, Port, Remedy string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("%s has a port %s that nines did not make; rename it, or remove it (%s)", e.Of, e.Port, e.Remedy)
}

// find returns the row with that name in a table, or nil if there is none. A row without our mark is an error.
func (d database) find(ctx context.Context, table, name, mark, remedy string) (ovsdb.Row, error) {
	row, err := d.row(ctx, table, named(name), "_uuid", "external_ids")
	if err != nil || row == nil {
		return nil, err
	}
	if words(row, "external_ids")[ourKey] != mark {
		return nil, &NotOursError{Of: d.of, Port: name, Remedy: remedy}
	}
	return row, nil
}

// row returns one row of a table, or nil if there is none.
func (d database) row(ctx context.Context, table string, where []ovsdb.Condition, columns ...string) (ovsdb.Row, error) {
	rows, err := d.rows(ctx, table, where, columns...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

func (d database) rows(ctx context.Context, table string, where []ovsdb.Condition, columns ...string) ([]ovsdb.Row, error) {
	results, err := d.transact(ctx, ovsdb.Operation{Op: ovsdb.OperationSelect, Table: table, Where: where, Columns: columns})
	if err != nil {
		return nil, err
	}
	return results[0].Rows, nil
}

// forgotten removes the rows with our mark whose names are not in held. remove returns the operation for one
// row.
func (d database) forgotten(ctx context.Context, table, mark string, held []string, remove func(id string) ovsdb.Operation) error {
	where := []ovsdb.Condition{ovsdb.NewCondition("external_ids", ovsdb.ConditionIncludes, marked(mark))}
	rows, err := d.rows(ctx, table, where, "_uuid", "name")
	if err != nil {
		return err
	}
	var all []ovsdb.Operation
	for _, row := range rows {
		if name, _ := row["name"].(string); !slices.Contains(held, name) {
			all = append(all, remove(identity(row)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	_, err = d.transact(ctx, all...)
	return err
}

// words returns a column that maps strings to strings.
func words(row ovsdb.Row, column string) map[any]any {
	all, _ := row[column].(ovsdb.OvsMap)
	return all.GoMap
}

// reference returns a set of one row, for columns that refer to rows.
func reference(id string) ovsdb.OvsSet { return ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: id}}} }

// identity returns a row's UUID.
func identity(row ovsdb.Row) string {
	id, _ := row["_uuid"].(ovsdb.UUID)
	return id.GoUUID
}

// changePorts returns an operation that changes which ports the switches of a table have.
func changePorts(table string, where []ovsdb.Condition, how ovsdb.Mutator, port string) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Where: where, Mutations: []ovsdb.Mutation{*ovsdb.NewMutation("ports", how, reference(port))}}
}

// takeOut returns the operation that removes a port from the switch of a table that has it. The database then
// deletes the port itself.
func takeOut(table string) func(port string) ovsdb.Operation {
	return func(port string) ovsdb.Operation {
		having := []ovsdb.Condition{ovsdb.NewCondition("ports", ovsdb.ConditionIncludes, reference(port))}
		return changePorts(table, having, ovsdb.MutateOperationDelete, port)
	}
}

func named(name string) []ovsdb.Condition {
	return []ovsdb.Condition{ovsdb.NewCondition("name", ovsdb.ConditionEqual, name)}
}

func (d database) transact(ctx context.Context, operations ...ovsdb.Operation) ([]ovsdb.OperationResult, error) {
	results, err := d.Transact(ctx, operations...)
	if err != nil {
		return nil, fmt.Errorf("query %s's database: %w", d.of, err)
	}
	if wrong, err := ovsdb.CheckOperationResults(results, operations); err != nil {
		return nil, fmt.Errorf("%s's database refused the request: %w (%v)", d.of, err, wrong)
	}
	return results, nil
}

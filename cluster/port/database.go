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

// database is a conversation with one of Open vSwitch's or OVN's (RFC 7047).
type database struct {
	client.Client
	// of is whose it is, for messages.
	of string
}

// databasePatience bounds a conversation.
const databasePatience = 20 * time.Second

// withDatabase talks to the database of a schema at one of the endpoints.
func withDatabase(ctx context.Context, of, schema string, endpoints []string, f func(context.Context, database) error) error {
	ctx, cancel := context.WithTimeout(ctx, databasePatience)
	defer cancel()
	whole, err := model.NewClientDBModel(schema, nil) // operations are written here, and no rows kept
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

// ourKey marks a row as ours, in its external_ids. Its value says whose ports it is of: databases outlive a
// reboot, and several nodes have one.
const ourKey = "nines-port"

func marked(mark string) ovsdb.OvsMap { return ovsdb.OvsMap{GoMap: map[any]any{ourKey: mark}} }

// NotOursError means that there is a port of that name which nines did not make.
type NotOursError struct{ Of, Port, Remedy string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("%s has a port %s that nines did not make; rename it, or remove it (%s)", e.Of, e.Port, e.Remedy)
}

// find returns the row of that name in a table if it has our mark; nil if there is none.
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

// row is one row of a table; nil if there is none.
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

// forgotten removes rows with our mark whose names nobody has any more. remove is the operation for one.
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

// words are those of a column that maps words to words.
func words(row ovsdb.Row, column string) map[any]any {
	all, _ := row[column].(ovsdb.OvsMap)
	return all.GoMap
}

// reference is a set of one row, as columns have them that refer to rows.
func reference(id string) ovsdb.OvsSet { return ovsdb.OvsSet{GoSet: []any{ovsdb.UUID{GoUUID: id}}} }

// identity is a row's own.
func identity(row ovsdb.Row) string {
	id, _ := row["_uuid"].(ovsdb.UUID)
	return id.GoUUID
}

// changePorts changes which ports the switches of a table have.
func changePorts(table string, where []ovsdb.Condition, how ovsdb.Mutator, port string) ovsdb.Operation {
	return ovsdb.Operation{Op: ovsdb.OperationMutate, Table: table, Where: where, Mutations: []ovsdb.Mutation{*ovsdb.NewMutation("ports", how, reference(port))}}
}

// takeOut takes a port out of whichever switch of a table has it. The database forgets it then.
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
		return nil, fmt.Errorf("ask %s's database: %w", d.of, err)
	}
	if wrong, err := ovsdb.CheckOperationResults(results, operations); err != nil {
		return nil, fmt.Errorf("%s's database refuses: %w (%v)", d.of, err, wrong)
	}
	return results, nil
}

package export

import (
	"io"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"nines.dev/nines/result"
)

// rowsPerGroup is small for Parquet: a row has about ninety columns, and a result seldom more than
// a few thousand trials.
const rowsPerGroup = 10_000

// WriteParquet writes the table with an optional column for each of its columns: STRING, INT64,
// DOUBLE, BOOLEAN, and TIMESTAMP in nanoseconds UTC. Unknown values are null.
func WriteParquet(w io.Writer, table *Table) error {
	fields := make([]parquet.Field, len(table.Columns))
	for i, c := range table.Columns {
		fields[i] = parquet.Group{c.Name: parquet.Optional(parquetNode(c.Kind))}.Fields()[0]
	}
	schema := parquet.NewSchema("trials", orderedGroup{parquet.Group{}, fields})
	out := parquet.NewWriter(w, schema, parquet.Compression(&zstd.Codec{}),
		parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.CreatedBy("nines", "", ""))
	cells := make(parquet.Row, len(table.Columns))
	for _, row := range table.Rows {
		for i, value := range row {
			cells[i] = parquetValue(value, i)
		}
		if _, err := out.WriteRows([]parquet.Row{cells}); err != nil {
			return err
		}
	}
	return out.Close()
}

func parquetNode(kind result.Kind) parquet.Node {
	switch kind {
	case result.KindInteger:
		return parquet.Int(64)
	case result.KindReal:
		return parquet.Leaf(parquet.DoubleType)
	case result.KindBoolean:
		return parquet.Leaf(parquet.BooleanType)
	case result.KindTime:
		return parquet.Timestamp(parquet.Nanosecond)
	default:
		return parquet.String()
	}
}

func parquetValue(value any, column int) parquet.Value {
	var v parquet.Value
	switch value := value.(type) {
	case string:
		v = parquet.ByteArrayValue([]byte(value))
	case int64:
		v = parquet.Int64Value(value)
	case float64:
		v = parquet.DoubleValue(value)
	case bool:
		v = parquet.BooleanValue(value)
	case time.Time:
		v = parquet.Int64Value(value.UnixNano())
	default:
		return parquet.NullValue().Level(0, 0, column)
	}
	return v.Level(0, 1, column)
}

// orderedGroup keeps columns in the order of the table; the library's group sorts them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

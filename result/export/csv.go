package export

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"
)

// WriteCSV writes the table with a header line. What is not known is empty; times are
// RFC 3339 in UTC.
func WriteCSV(w io.Writer, table *Table) error {
	out := csv.NewWriter(w)
	fields := make([]string, len(table.Columns))
	for i, c := range table.Columns {
		fields[i] = c.Name
	}
	if err := out.Write(fields); err != nil {
		return err
	}
	for _, row := range table.Rows {
		for i, value := range row {
			fields[i] = field(value)
		}
		if err := out.Write(fields); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func field(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	case time.Time:
		return value.Format(time.RFC3339Nano)
	}
	return ""
}

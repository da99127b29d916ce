package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// parquetSchemaKey is the key of a file's format in its metadata.
const parquetSchemaKey = "schema"

// rowsPerGroup limits the memory for writing and reading, which hold a whole row group.
const rowsPerGroup = 1 << 19

// mostColumnBytes and mostGroupRows are how large a row group may say that it is. Ours have eight bytes a row
// and some names; the limits keep a damaged or foreign file from taking all memory for what it says. What a
// compressed page expands to is only known to the library, which has no limit to set.
const (
	mostColumnBytes = 256 << 20
	mostGroupRows   = 1 << 26
)

// readParquet reads one of a folder's Parquet files: visit gets some rows at a time, valid until it
// returns. It returns the file's metadata, and fs.ErrNotExist if there is no such file. Files may come
// from anyone, so it checks what they say of themselves before it believes them.
func readParquet[T any](f Folder, name string, schemas []string, visit func([]T) error) (lookup func(key string) (string, bool), err error) {
	below, path, err := f.Path(name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", below, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err == nil {
		lookup, err = readRowsOf(file, info.Size(), schemas, visit)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = f.broken(name, err)
	}
	return lookup, err
}

// readRowsOf is readParquet for a file's content.
func readRowsOf[T any](content io.ReaderAt, size int64, schemas []string, visit func([]T) error) (lookup func(key string) (string, bool), err error) {
	visiting := false
	defer func() {
		// The library panics at some damages.
		if problem := recover(); problem != nil && visiting {
			panic(problem)
		} else if problem != nil {
			err = fmt.Errorf("its content is inconsistent: %v", problem)
		}
	}()
	if err := checkFooter(content, size); err != nil {
		return nil, err
	}
	// Nothing is searched for, so the indexes, which are lists of a claimed length too, stay unread.
	opened, err := parquet.OpenFile(content, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	if has, _ := opened.Lookup(parquetSchemaKey); !slices.Contains(schemas, has) {
		return nil, fmt.Errorf("its schema is %q, not %q", has, schemas[0])
	}
	if err := errors.Join(checkColumns[T](opened), checkGroups(opened)); err != nil {
		return nil, err
	}
	r := parquet.NewGenericReader[T](opened)
	defer func() { err = errors.Join(err, r.Close()) }()
	rows := make([]T, 4096)
	for {
		n, err := r.Read(rows)
		if n > 0 {
			visiting = true
			if err := visit(rows[:n]); err != nil {
				return nil, err
			}
			visiting = false
		}
		if errors.Is(err, io.EOF) {
			return opened.Lookup, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// checkColumns refuses a file whose columns have other types than the fields of T; columns that T does
// not have are ignored.
func checkColumns[T any](file *parquet.File) error {
	want := parquet.SchemaOf(new(T))
	for _, path := range want.Columns() {
		is, there := file.Schema().Lookup(path...)
		if !there {
			return fmt.Errorf("it has no column %q", path[0])
		}
		should, _ := want.Lookup(path...)
		if is.Node.Repeated() || is.Node.Type().Kind() != should.Node.Type().Kind() {
			return fmt.Errorf("its column %q is %s, not %s", path[0], is.Node, should.Node)
		}
	}
	return nil
}

// checkGroups refuses a file with more rows than its groups have, or with groups too large to be held.
func checkGroups(file *parquet.File) error {
	rows := int64(0)
	for i, group := range file.Metadata().RowGroups {
		if group.NumRows < 0 || group.NumRows > mostGroupRows {
			return fmt.Errorf("its row group %d has %d rows; up to %d can be read", i, group.NumRows, mostGroupRows)
		}
		rows += group.NumRows
		for _, column := range group.Columns {
			if bytes := column.MetaData.TotalUncompressedSize; bytes < 0 || bytes > mostColumnBytes {
				return fmt.Errorf("a column of its row group %d has %d bytes; up to %d can be read", i, bytes, mostColumnBytes)
			}
		}
	}
	if rows != file.NumRows() {
		return fmt.Errorf("it has %d rows, and its row groups have %d", file.NumRows(), rows)
	}
	return nil
}

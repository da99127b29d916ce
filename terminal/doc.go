// Package terminal formats what people read: tables, numbers with units, wrapped lines, and colour
// if the terminal has it. It knows nothing about the content, and every package that prints may
// import it.
package terminal

package measure

import (
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// imagesOf returns the images of a lab's nodes, as its results record them.
func imagesOf(l *lab.Lab) ([]result.NodeImage, error) {
	found, err := l.Images()
	var list []result.NodeImage
	for _, i := range found {
		list = append(list, result.NodeImage(i))
	}
	return list, err
}

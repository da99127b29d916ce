package main

import "nines.dev/nines/spec"

// loadFile reads an experiment file and applies --set.
func loadFile(path string, sets []string) (*spec.File, error) {
	file, err := spec.LoadFile(path)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			return nil, err
		}
	}
	return file, nil
}

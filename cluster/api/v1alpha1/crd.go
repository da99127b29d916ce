package v1alpha1

import _ "embed"

// CRD is the definition of NodeLatency for the API server, as YAML.
//
//go:embed crd.yaml
var CRD []byte

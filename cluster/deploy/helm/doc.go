// Package helm writes the templates of the chart, which is in the folder beside it, from the
// manifests that kustomize applies: what is deployed is said once. The tests hold the written files
// to that (make generate rewrites them), and what Helm makes of the chart to what kustomize makes
// of the manifests.
package helm

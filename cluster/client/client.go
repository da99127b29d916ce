// Package client reads and writes the objects of nines.dev at an API server.
package client

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"nines.dev/nines/cluster/api/v1alpha1"
)

// Client reads and writes NodeLatency objects. It is safe for concurrent use.
type Client struct {
	rest      rest.Interface
	parameter runtime.ParameterCodec
}

// New connects as config says. A custom resource is spoken of in JSON only, whatever config
// has for Kubernetes' own objects.
func New(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("scheme of %s: %w", v1alpha1.GroupVersion, err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", v1alpha1.GroupVersion, err)
	}
	return &Client{rest: client, parameter: runtime.NewParameterCodec(scheme)}, nil
}

// Get returns the object of a node.
func (c *Client) Get(ctx context.Context, node string) (*v1alpha1.NodeLatency, error) {
	out := &v1alpha1.NodeLatency{}
	err := c.rest.Get().Resource(v1alpha1.Resource.Resource).Name(node).Do(ctx).Into(out)
	return out, err
}

// List returns all.
func (c *Client) List(ctx context.Context, options metav1.ListOptions) (*v1alpha1.NodeLatencyList, error) {
	out := &v1alpha1.NodeLatencyList{}
	err := c.rest.Get().Resource(v1alpha1.Resource.Resource).VersionedParams(&options, c.parameter).Do(ctx).Into(out)
	return out, err
}

// Watch tells of changes.
func (c *Client) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return c.rest.Get().Resource(v1alpha1.Resource.Resource).VersionedParams(&options, c.parameter).Watch(ctx)
}

// Create makes an object. The API server refuses fields that it does not know.
func (c *Client) Create(ctx context.Context, made *v1alpha1.NodeLatency) (*v1alpha1.NodeLatency, error) {
	out := &v1alpha1.NodeLatency{}
	err := c.rest.Post().Resource(v1alpha1.Resource.Resource).Param("fieldValidation", metav1.FieldValidationStrict).
		Body(made).Do(ctx).Into(out)
	return out, err
}

// Update replaces an object of the same resource version.
func (c *Client) Update(ctx context.Context, made *v1alpha1.NodeLatency) (*v1alpha1.NodeLatency, error) {
	out := &v1alpha1.NodeLatency{}
	err := c.rest.Put().Resource(v1alpha1.Resource.Resource).Name(made.Name).
		Param("fieldValidation", metav1.FieldValidationStrict).Body(made).Do(ctx).Into(out)
	return out, err
}

// Patch changes an object, as the kind of patch says.
func (c *Client) Patch(ctx context.Context, node string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (*v1alpha1.NodeLatency, error) {
	out := &v1alpha1.NodeLatency{}
	err := c.rest.Patch(kind).Resource(v1alpha1.Resource.Resource).Name(node).
		VersionedParams(&options, c.parameter).Body(patch).Do(ctx).Into(out)
	return out, err
}

// Delete removes the object of a node.
func (c *Client) Delete(ctx context.Context, node string) error {
	return c.rest.Delete().Resource(v1alpha1.Resource.Resource).Name(node).Do(ctx).Error()
}

package port

import (
	"context"
	"errors"

	"nines.dev/nines/engine/client"
)

// StartSwitch has the engine at a control socket switch between ports that are opened later, unless it
// does so already. It is to be called again when the engine was started again, and Sweep after it.
func StartSwitch(ctx context.Context, socket string, s client.Switch) error {
	return withSwitch(ctx, socket, func(c *client.Client) error {
		if _, err := c.Hello(); err != nil {
			return err
		}
		_, err := c.SwitchStats()
		if refused := new(client.Error); errors.As(err, &refused) {
			return c.StartSwitch(s)
		}
		return err
	})
}

package port

import (
	"context"
	"errors"

	"nines.dev/nines/engine/client"
)

// StartSwitch makes the engine at a control socket switch between ports that are opened later, unless it
// already does. If started is true, the engine is new, and Keeper.Sweep makes its ports again.
func StartSwitch(ctx context.Context, socket string, s client.Switch) (started bool, err error) {
	err = withSwitch(ctx, socket, func(c *client.Client) error {
		if _, err := c.Hello(); err != nil {
			return err
		}
		_, err := c.SwitchStats()
		if refused := new(client.Error); errors.As(err, &refused) {
			err = c.StartSwitch(s)
			started = err == nil
		}
		return err
	})
	return started, err
}

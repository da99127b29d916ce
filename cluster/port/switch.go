package port

import (
	"context"
	"errors"

	"nines.dev/nines/engine/client"
)

// StartSwitch has the engine at a control socket switch between ports that are opened later, unless it
// does so already. If it did not, the engine is new, and Keeper.Sweep makes its ports anew.
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

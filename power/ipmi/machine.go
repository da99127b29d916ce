package ipmi

import (
	"context"
	"errors"

	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"nines.dev/nines/power"
)

// registry lists the commands that are answered: those that say what the controller is, those of
// sessions, and those of the chassis. There are none to change users, addresses or records.
func (p *Port) registry() *handlers.Registry {
	r := handlers.NewRegistry()
	handlers.RegisterAppHandlers(r)
	handlers.RegisterSessionHandlers(r)
	handlers.RegisterChassisHandlers(r)
	r.RegisterFunc(types.CommandChassisControl, p.chassisControl)
	refuse := func(context.Context, *handlers.HandlerContext, []byte) ([]byte, types.CompletionCode, error) {
		return nil, types.CodeInvalidCommand, nil
	}
	// To reset the controller; go-ipmi resets the machine. And the sessions of IPMI 1.5.
	for _, command := range []types.Command{types.CommandColdReset, types.CommandWarmReset, types.CommandGetSessionChallenge, types.CommandActivateSession} {
		r.RegisterFunc(command, refuse)
	}
	return r
}

// controls are the actions of Chassis Control (IPMI 2.0, table 28-4).
var controls = map[chassis.ChassisControl]power.Action{
	chassis.ChassisControlPowerDown: power.Off, chassis.ChassisControlPowerUp: power.On,
	chassis.ChassisControlPowerCycle: power.Cycle, chassis.ChassisControlHardReset: power.Reset,
	chassis.ChassisControlDiagnosticInterrupt: power.Diag, chassis.ChassisControlSoftShutdown: power.Soft,
}

// chassisControl is go-ipmi's command with all of its actions: that takes a soft shutdown for a reset,
// and has no diagnostic interrupt.
func (p *Port) chassisControl(_ context.Context, _ *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
	var asked chassis.ChassisControlRequest
	if err := asked.Unpack(request); err != nil {
		return nil, types.CodeRequestDataTruncated, nil
	}
	action, known := controls[asked.ChassisControl]
	if !known {
		return nil, types.CodeRequestDataFieldInvalid, nil
	}
	return nil, p.do(action), nil
}

func (p *Port) do(action power.Action) types.CompletionCode {
	err := p.config.Control.Do(p.node, action, p.by)
	switch {
	case err == nil:
		return types.CodeOK
	case errors.Is(err, power.ErrBusy):
		return types.CodeNodeBusy
	case errors.Is(err, power.ErrRefused):
		return types.CodeNotSupported // "in present state", as the standard has no other
	}
	return types.CodeUnspecifiedError
}

// machine is a node as go-ipmi's commands see it. It has a chassis and nothing else.
type machine struct{ *Port }

func (m machine) Chassis() hal.ChassisHAL { return frame(m) }
func (machine) Sensors() hal.SensorHAL    { return nil }
func (machine) Storage() hal.StorageHAL   { return nil }
func (machine) Network() hal.NetworkHAL   { return nil }
func (machine) GPIO() hal.GPIOHAL         { return nil }
func (machine) I2C() hal.I2CHAL           { return nil }
func (machine) Console() hal.ConsoleHAL   { return nil }
func (machine) Close() error              { return nil }

// frame is the node's chassis.
type frame struct{ *Port }

func (f frame) PowerState(context.Context) (bool, error) {
	s, err := f.config.Control.State(f.node)
	return s.On, err
}

// failed is a completion code as an error; nil for the one of success.
func failed(code types.CompletionCode) error {
	if code == types.CodeOK {
		return nil
	}
	return code
}

func (f frame) SetPower(_ context.Context, on bool) error {
	if on {
		return failed(f.do(power.On))
	}
	return failed(f.do(power.Off))
}

func (f frame) PowerCycle(context.Context) error { return failed(f.do(power.Cycle)) }
func (f frame) ColdReset(context.Context) error  { return failed(f.do(power.Reset)) }
func (f frame) WarmReset(context.Context) error  { return failed(f.do(power.Restart)) }

func (frame) Identify(context.Context, uint8) error        { return hal.ErrNotSupported }
func (frame) IntrusionState(context.Context) (bool, error) { return false, hal.ErrNotSupported }

func (f frame) SetBootFlags(_ context.Context, flags *types.BootOptionParam_BootFlags) error {
	var b power.Boot
	if flags.BootFlagsValid {
		b = power.Boot{Device: uint8(flags.BootDeviceSelector), Always: flags.Persist, UEFI: bool(flags.BIOSBootType)}
	}
	f.config.Control.SetBoot(f.node, b)
	return nil
}

func (f frame) GetBootFlags(context.Context) (*types.BootOptionParam_BootFlags, error) {
	b := f.config.Control.Boot(f.node)
	return &types.BootOptionParam_BootFlags{
		BootFlagsValid: b != power.Boot{}, Persist: b.Always,
		BIOSBootType: types.BIOSBootType(b.UEFI), BootDeviceSelector: types.BootDeviceSelector(b.Device),
	}, nil
}

func (frame) SetBootInfoAcknowledge(context.Context, *types.BootOptionParam_BootInfoAcknowledge) error {
	return nil // who has read the flags is of no interest
}

func (frame) GetBootInfoAcknowledge(context.Context) (*types.BootOptionParam_BootInfoAcknowledge, error) {
	return &types.BootOptionParam_BootInfoAcknowledge{}, nil
}

package port

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/link"
)

// Folder is where a node keeps the records of its ports. A boot empties /run, and removes the ports too.
const Folder = "/run/nines/ports"

// Keeper hands out the ports of a node. Several processes may have a Keeper for the same folder.
type Keeper struct {
	// Folder is the absolute path of its folder; see the constant.
	Folder string
	// Note receives what stays as it is when a port is released, and why; may be nil.
	Note func(string)
}

// Held is a port with a holder.
type Held struct {
	Order
	Since time.Time `json:"since"`
	// Done is false while Take runs, and after Take was interrupted.
	Done bool `json:"done"`
	// Namespace is the path of the network namespace that the device is in, and Cookie identifies it;
	// empty before Attach.
	Namespace string `json:"netns,omitempty"`
	Cookie    uint64 `json:"cookie,omitempty"`
	// PCI is the address of a virtual function; empty for other ports.
	PCI string `json:"pci,omitempty"`
	// Size is the MTU of the device, once it is attached.
	Size int `json:"size,omitempty"`
}

// TakenError means that another holder has the port.
type TakenError struct {
	Port string
	By   Order
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("port %s is held by %s for pod %s/%s; it becomes free when that holder releases it", e.Port, e.By.Holder, e.By.Pod.Namespace, e.By.Pod.Name)
}

// NotHeldError means that the caller has not taken the port that it names.
type NotHeldError struct{ Port, Holder string }

func (e *NotHeldError) Error() string {
	return fmt.Sprintf("port %s is not held by %s", e.Port, e.Holder)
}

// The files in a port's folder.
const (
	recordName = "port.json"
	socketName = "socket"
	// lockName is a file in the parent's folder; no port's name begins with a dot.
	lockName = ".lock"
)

// place describes the folder of a port.
func (k Keeper) place(parent, name string) folder.Place {
	return folder.Place{
		Root: k.Folder, Below: filepath.Join(parent, name), Owner: "ports/" + name,
		What: "a port", Elsewhere: "use another folder for the ports", Again: "give the port back again",
		Written: []string{recordName, recordName + replace.Unfinished, socketName},
	}
}

// Take gives a port to a holder. If the holder already has the port, it gets the same one. If another holder
// has it, the error is a *TakenError.
func (k Keeper) Take(ctx context.Context, o Order) (Held, error) {
	if err := errors.Join(o.Check(), k.check(o.Port)); err != nil {
		return Held{}, err
	}
	if o.MAC == "" {
		o.MAC = madeMAC(o.Holder, o.Port.Name)
	}
	var held Held
	err := k.locked(ctx, o.Port.Parent, func() error {
		now, err := k.clear(ctx, o.Port)
		if err != nil {
			return err
		}
		if now != nil && now.Holder != o.Holder {
			return &TakenError{Port: o.Port.Name, By: now.Order}
		}
		if now != nil && now.same(o) {
			held = *now
			return k.restore(ctx, *now)
		}
		if now != nil {
			if err := k.undo(ctx, o.Port); err != nil {
				return err
			}
		}
		if err := k.onlyOne(o); err != nil {
			return err
		}
		held, err = k.make(ctx, o)
		return err
	})
	if err != nil {
		return Held{}, fmt.Errorf("take port %s: %w", o.Port.Name, err)
	}
	return held, nil
}

// onlyOne refuses a MAC address that another port of the same network has: one of the two pods would receive
// the other's packets.
func (k Keeper) onlyOne(o Order) error {
	all, err := k.Held()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Port.Name != o.Port.Name && other.Port.Place() == o.Port.Place() && other.Port.VLAN == o.Port.VLAN && sameMAC(other.MAC, o.MAC) {
			return fmt.Errorf("the MAC address %s already belongs to port %s of pod %s/%s; choose another, or remove mac", o.MAC, other.Port.Name, other.Pod.Namespace, other.Pod.Name)
		}
	}
	return nil
}

func sameMAC(a, b string) bool {
	first, wrong := net.ParseMAC(a)
	second, alsoWrong := net.ParseMAC(b)
	return wrong == nil && alsoWrong == nil && bytes.Equal(first, second)
}

// check refuses a port whose socket path on the node is too long for the switch that listens there or connects
// to it. memif's sockets are used only in pods.
func (k Keeper) check(p Port) error {
	if !p.InSwitch() && !p.InOVS() {
		return nil
	}
	return link.CheckPath(k.SocketPath(p), "choose a shorter folder for the node's ports (--folder, or portsFolder of a CNI network)")
}

// make makes the port of an order. If that fails, it leaves nothing behind.
func (k Keeper) make(ctx context.Context, o Order) (Held, error) {
	held := Held{Order: o, Since: time.Now().UTC()}
	open, err := folder.Begin(k.place(o.Port.Parent, o.Port.Name))
	if err != nil {
		return held, err
	}
	err = k.write(held)
	if take := kinds[o.Port.Tier].take; err == nil && take != nil {
		err = take(ctx, k.site(o, open.Journal), &held)
	}
	if err == nil && o.Port.AFXDP {
		err = k.site(o, open.Journal).takeMaps()
	}
	if err == nil {
		held.Done = true
		err = k.write(held)
	}
	if err != nil {
		return held, errors.Join(err, open.Undo(context.WithoutCancel(ctx), k.Note))
	}
	return held, open.Close()
}

func (k Keeper) site(o Order, j *journal.Journal) site {
	return site{Order: o, journal: j, sockets: k.SocketFolder(o.Port), keeper: k, mark: k.Folder}
}

// clear removes what a killed Take or an earlier boot has left of a port. If the port has a holder, clear
// keeps and returns it; otherwise it returns nil.
func (k Keeper) clear(ctx context.Context, p Port) (*Held, error) {
	open, err := folder.Take(k.place(p.Parent, p.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held, err := k.read(p.Parent, p.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// The port may have a holder: a record that cannot be read need not be the remains of a killed call.
		return nil, errors.Join(err, open.Close())
	}
	if err == nil && held.Done && open.SinceBoot() {
		return &held, open.Close()
	}
	return nil, open.Undo(ctx, k.Note)
}

// GiveBack undoes all ports of a holder, or only the named ones. It does nothing if the holder has none.
func (k Keeper) GiveBack(ctx context.Context, holder string, ports ...string) error {
	all, err := k.Held()
	if err != nil {
		return err
	}
	var failures []error
	for _, held := range all {
		if held.Holder != holder || len(ports) > 0 && !slices.Contains(ports, held.Port.Name) {
			continue
		}
		err := k.locked(ctx, held.Port.Parent, func() error {
			now, err := k.read(held.Port.Parent, held.Port.Name)
			if errors.Is(err, fs.ErrNotExist) || err == nil && now.Holder != holder {
				return nil
			}
			return k.undo(ctx, held.Port)
		})
		if err != nil {
			failures = append(failures, fmt.Errorf("give back port %s: %w", held.Port.Name, err))
		}
	}
	return errors.Join(failures...)
}

// undo undoes a port, no matter which holder has it.
func (k Keeper) undo(ctx context.Context, p Port) error {
	open, err := folder.Take(k.place(p.Parent, p.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// If this process is killed, a half-undone port must not count as held. Undo works on a full disk, too.
	if held, err := k.read(p.Parent, p.Name); err == nil && held.Done {
		held.Done = false
		if err := k.write(held); err != nil && k.Note != nil {
			k.Note(err.Error())
		}
	}
	return open.Undo(ctx, k.Note)
}

// Held returns the ports that have a holder, sorted by name. It includes those that are being taken.
func (k Keeper) Held() ([]Held, error) {
	parents, err := foldersIn(k.Folder)
	if err != nil {
		return nil, err
	}
	var all []Held
	for _, parent := range parents {
		ports, err := foldersIn(filepath.Join(k.Folder, parent))
		if err != nil {
			return nil, err
		}
		for _, port := range ports {
			held, err := k.read(parent, port)
			if errors.Is(err, fs.ErrNotExist) {
				continue // released meanwhile
			}
			if err != nil {
				return nil, err
			}
			all = append(all, held)
		}
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Port.Name, b.Port.Name) })
	return all, nil
}

// foldersIn returns the names of the folders in a folder, which may be absent. filepath.Glob would treat an
// unreadable folder as empty.
func foldersIn(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the ports that are held: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Sweep removes what killed calls and earlier boots have left, and makes again what a restarted switch has
// lost.
func (k Keeper) Sweep(ctx context.Context) error {
	parents, err := os.ReadDir(k.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	failures := []error{err}
	for _, parent := range parents {
		if parent.IsDir() && parentNames.MatchString(parent.Name()) {
			failures = append(failures, k.locked(ctx, parent.Name(), func() error { return k.sweep(ctx, parent.Name()) }))
		}
	}
	return errors.Join(append(failures, k.sweepPods(ctx))...)
}

// sweep is Sweep for the ports of one parent.
func (k Keeper) sweep(ctx context.Context, parent string) error {
	folders, err := os.ReadDir(filepath.Join(k.Folder, parent))
	failures := []error{err}
	for _, f := range folders {
		if !names.MatchString(f.Name()) {
			continue // the lock
		}
		held, err := k.clear(ctx, Port{Name: f.Name(), Parent: parent})
		if err == nil && held != nil {
			err = k.restore(ctx, *held)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("check port %s: %w", f.Name(), err))
		}
		if errors.As(err, new(*SilentError)) {
			break // the others would wait for the same database
		}
	}
	return errors.Join(failures...)
}

// Forgotten removes a node's ports that an earlier boot has left in databases. Databases survive a boot, but
// the records of the holders do not.
func (k Keeper) Forgotten(ctx context.Context, ports []Port) error {
	var failures []error
	var seen []string
	for _, p := range ports {
		forgotten := kinds[p.Tier].forgotten
		parent := Port{Tier: p.Tier, Parent: p.Parent, Socket: p.Socket, Northbound: p.Northbound}
		if forgotten == nil || slices.Contains(seen, parent.Place()) {
			continue
		}
		seen = append(seen, parent.Place())
		failures = append(failures, k.locked(ctx, p.Parent, func() error {
			held, err := k.Held()
			if err != nil {
				return err
			}
			return forgotten(ctx, k.site(Order{Port: parent}, nil), held)
		}))
	}
	return errors.Join(failures...)
}

// restore makes again what other programs have removed of a port.
func (k Keeper) restore(ctx context.Context, held Held) error {
	var failures []error
	if restore := kinds[held.Port.Tier].restore; restore != nil {
		failures = append(failures, restore(ctx, k.site(held.Order, nil), &held))
	}
	if held.Port.AFXDP {
		failures = append(failures, k.site(held.Order, nil).mapsAreThere())
	}
	return errors.Join(failures...)
}

// locked runs f while no other call works on the ports of a parent. The last user of the lock removes it, and
// with the last port the parent's folder disappears.
func (k Keeper) locked(ctx context.Context, parent string, f func() error) error {
	lock, err := k.lock(ctx, parent)
	if err != nil {
		return fmt.Errorf("wait for another call that uses the ports of %s: %w", parent, err)
	}
	err = errors.Join(f(), lock.Remove())
	_ = os.Remove(filepath.Join(k.Folder, parent)) // if it is empty
	return err
}

func (k Keeper) lock(ctx context.Context, parent string) (*flock.Lock, error) {
	for {
		if err := os.MkdirAll(filepath.Join(k.Folder, parent), 0o700); err != nil {
			return nil, err
		}
		lock, err := flock.Wait(ctx, filepath.Join(k.Folder, parent, lockName))
		// Another call may have removed the empty folder meanwhile.
		if !errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
			return lock, err
		}
	}
}

func (k Keeper) read(parent, name string) (Held, error) {
	path := filepath.Join(k.place(parent, name).Path(), recordName)
	text, err := os.ReadFile(path)
	if err != nil {
		return Held{}, fmt.Errorf("read the record of port %s: %w", name, err)
	}
	var held Held
	if err := json.Unmarshal(text, &held); err != nil {
		return Held{}, fmt.Errorf("read %s: %w", path, err)
	}
	return held, nil
}

func (k Keeper) write(held Held) error {
	path := filepath.Join(k.place(held.Port.Parent, held.Port.Name).Path(), recordName)
	if err := replace.JSON(path, held, 0o600); err != nil {
		return fmt.Errorf("write the record of port %s: %w", held.Port.Name, err)
	}
	return nil
}

package tend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/spec"
)

// sessionsOfPods is the prefix of the names of nines kbp sessions that belong to pods.
const sessionsOfPods = "pod-"

// attempt is a receive mode that could not be set.
type attempt struct {
	what, why string
	at        time.Time
}

// tryAgain is when a receive mode that could not be set is tried again although nothing has changed.
const tryAgain = 2 * time.Minute

// receive sets the receive modes that pods request.
func (s *Service) receive(ctx context.Context, found []Found, decisions []Decision, pods []*v1.Pod) error {
	failures := []error{s.stopOthers(ctx, decisions)}
	for uid := range s.refused {
		if !slices.ContainsFunc(pods, func(p *v1.Pod) bool { return p.UID == uid }) {
			delete(s.refused, uid)
		}
	}
	for _, d := range decisions {
		pod := podOf(found, d)
		switch {
		case d.ReceiveRefused != "":
			s.told.refuse(pod, aboutReceive, d.ReceiveRefused)
		case d.Receive == "" || d.Receive == spec.ReceiveInterrupt:
			s.told.end(pod, aboutReceive)
		case d.Receive == spec.ReceiveAwake && !hostThreads():
			s.told.refuse(pod, aboutReceive, fmt.Sprintf("%s %s: the node shares its CPUs with the machine that it runs on, which controls their idle states: use another mode", ReceiveKey, d.Receive))
		default:
			failures = append(failures, s.receiveBy(ctx, pod, d))
		}
	}
	return errors.Join(failures...)
}

// stopOthers ends the sessions of pods that are gone, or no longer request one.
func (s *Service) stopOthers(ctx context.Context, decisions []Decision) error {
	sessions, err := busypoll.Sessions(s.Root)
	if err != nil {
		return err
	}
	var failures []error
	for _, session := range sessions {
		uid, ours := strings.CutPrefix(session.Name, sessionsOfPods)
		wanted := slices.ContainsFunc(decisions, func(d Decision) bool { return string(d.UID) == uid && d.Receive != "" })
		if ours && !wanted {
			failures = append(failures, stop(ctx, session))
		}
	}
	return errors.Join(failures...)
}

func stop(ctx context.Context, session busypoll.Session) error {
	err := session.Stop(ctx, func(note string) { slog.Warn("stopping a receive session", "session", session.Name, "note", note) })
	if errors.Is(err, busypoll.ErrNoSession) {
		return nil
	}
	return err
}

// receiveBy sets the receive mode of one pod.
func (s *Service) receiveBy(ctx context.Context, pod *v1.Pod, d Decision) error {
	ns, err := s.namespaceOf(pod.UID)
	if ns == nil || err != nil {
		return err
	}
	defer ns.Close()
	request := requestOf(d)
	session := busypoll.Session{Root: s.Root, Name: sessionsOfPods + string(pod.UID)}
	stands, record, why, err := standing(session, ns, request)
	if err != nil {
		return err
	}
	if stands {
		s.told.give(pod, aboutReceive, received(d, record))
		return nil
	}
	what := fmt.Sprint(request)
	if last, tried := s.refused[pod.UID]; tried && last.what == what && time.Since(last.at) < tryAgain {
		s.told.refuse(pod, aboutReceive, last.why)
		return nil
	}
	if record != nil {
		slog.Info("restarting a receive session", "pod", pod.Namespace+"/"+pod.Name, "reason", why)
	}
	if err := stop(ctx, session); err != nil {
		return err
	}
	begin := busypoll.Begin{
		Target: fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name), User: "nines' agent", Program: s.Poller, Request: request,
	}
	if d.Receive == spec.ReceiveAwake || d.Receive == spec.ReceiveBusyPoll {
		group, err := cpuSetOf(ns, d.Own)
		if err != nil {
			return s.cannot(pod, d, what, err)
		}
		begin.Groups = []string{group}
	}
	record, err = session.Start(ctx, ns, begin)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return s.cannot(pod, d, what, err)
	}
	delete(s.refused, pod.UID)
	s.told.give(pod, aboutReceive, received(d, record))
	return nil
}

// cannot reports to a pod that its receive mode could not be set, and remembers it. The pod runs without it.
func (s *Service) cannot(pod *v1.Pod, d Decision, what string, err error) error {
	why := fmt.Sprintf("%s %s: %v", ReceiveKey, d.Receive, err)
	s.refused[pod.UID] = attempt{what: what, why: why, at: time.Now()}
	s.told.refuse(pod, aboutReceive, why)
	return nil
}

// namespaceOf returns the network namespace of a pod that has ports; nil if it is gone.
func (s *Service) namespaceOf(pod types.UID) (*netns.Namespace, error) {
	held, err := s.Ports.Held()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(held, func(h port.Held) bool { return h.Pod.UID == string(pod) && h.Cookie != 0 })
	if at < 0 {
		return nil, nil
	}
	return netns.Find(held[at].Namespace, held[at].Cookie)
}

// requestOf returns the request to package busypoll. The pod's programs have priority on its CPUs: the threads
// that poll, or keep CPUs awake, run only while the programs need none of them.
func requestOf(d Decision) busypoll.Request {
	r := busypoll.Request{Receive: d.Receive, Interfaces: d.Interfaces}
	switch d.Receive {
	case spec.ReceiveAwake:
		r.CPUs = d.Own
	case spec.ReceiveBusyPoll:
		r.CPUs, r.Shared = d.Own, true
	case spec.ReceiveThreaded:
		if hostThreads() {
			r.CPUs = d.Own
		}
	case spec.ReceiveInterrupt, spec.ReceiveSuspend:
	}
	return r
}

// standing reports whether a session is in force and is the requested one; otherwise it returns the reason.
// The record is nil if there is no session.
func standing(session busypoll.Session, ns *netns.Namespace, r busypoll.Request) (stands bool, record *busypoll.Record, why string, err error) {
	record, err = session.Record()
	if errors.Is(err, busypoll.ErrNoSession) {
		return false, nil, "", nil
	}
	if err != nil {
		return false, nil, "", err
	}
	state, stale, err := session.State()
	if err != nil || state != busypoll.StateRunning {
		return false, record, strings.TrimSpace(string(state) + " " + stale), err
	}
	cookie, err := ns.Cookie()
	if err != nil {
		return false, record, "", err
	}
	var interfaces []string
	for _, i := range record.Running.Interfaces {
		interfaces = append(interfaces, i.Name)
	}
	same := record.Cookie == cookie && record.Running.Receive == r.Receive && slices.Equal(record.Running.CPUs, r.CPUs) &&
		slices.Equal(interfaces, r.Interfaces)
	return same, record, "the request has changed", nil
}

// received describes what a pod got.
func received(d Decision, record *busypoll.Record) string {
	run := record.Running
	var names []string
	for _, i := range run.Interfaces {
		names = append(names, i.Name)
	}
	text := fmt.Sprintf("rx %s", d.Receive)
	if len(names) > 0 {
		text += " of " + strings.Join(names, ", ")
	}
	text += ": " + run.Mechanism
	if len(run.CPUs) > 0 {
		text += " on CPUs " + tasks.Set(run.CPUs).String()
	}
	if run.Why != "" && run.Why != text {
		text += " (" + run.Why + ")"
	}
	notes := run.Notes
	if d.Left != "" {
		notes = append(slices.Clone(notes), d.Left)
	}
	if len(notes) > 0 {
		text += "; " + strings.Join(notes, "; ")
	}
	return text
}

package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"nines.dev/nines/power"
)

// Config is what the service works with.
type Config struct {
	Control        *power.Controller
	Guard          *power.Guard
	Nodes          []string
	User, Password string
	// Say receives a line for each request that could not be handled.
	Say func(string)
}

// The limits of requests.
const (
	mostBody   = 64 << 10 // bytes
	mostHeader = 16 << 10 // bytes
	// headerPatience and requestPatience are how long a client may take to say what it wants, and
	// idlePatience how long a connection may be quiet.
	headerPatience  = 5 * time.Second
	requestPatience = 10 * time.Second
	answerPatience  = 30 * time.Second
	idlePatience    = 30 * time.Second
)

// service is Redfish for a lab.
type service struct {
	Config
	sessions sessions
	now      func() time.Time
	// said is when a request was last said to be beyond us.
	said atomic.Pointer[time.Time]
}

// New returns the service's handler.
func New(config Config) http.Handler {
	return newService(config).handler()
}

func newService(config Config) *service {
	return &service{Config: config, sessions: sessions{known: map[string]session{}}, now: time.Now}
}

// Serve answers the requests of a listener until ctx ends; the caller has wrapped it for TLS, if that
// is wanted, and limits its connections (Limit).
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerPatience, ReadTimeout: requestPatience, WriteTimeout: answerPatience,
		IdleTimeout: idlePatience, MaxHeaderBytes: mostHeader,
		ErrorLog:    discard, // what strangers do wrong would fill it
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) || ctx.Err() == nil {
		return fmt.Errorf("redfish: %w", err)
	}
	return nil
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /redfish", s.versions)
	mux.HandleFunc("GET /redfish/{$}", s.versions)
	for _, end := range []string{"", "/{$}"} {
		mux.HandleFunc("GET /redfish/v1"+end, s.root)
		mux.HandleFunc("GET /redfish/v1/odata"+end, s.odata)
		mux.HandleFunc("GET /redfish/v1/$metadata"+end, s.metadata)
		mux.HandleFunc("POST /redfish/v1/SessionService/Sessions"+end, s.login)
		for pattern, handle := range map[string]http.HandlerFunc{
			"GET /redfish/v1/SessionService":                               s.sessionService,
			"GET /redfish/v1/SessionService/Sessions":                      s.listSessions,
			"GET /redfish/v1/SessionService/Sessions/{id}":                 s.showSession,
			"DELETE /redfish/v1/SessionService/Sessions/{id}":              s.logout,
			"GET /redfish/v1/Systems":                                      s.listSystems,
			"GET /redfish/v1/Systems/{node}":                               s.showSystem,
			"PATCH /redfish/v1/Systems/{node}":                             s.changeSystem,
			"POST /redfish/v1/Systems/{node}/Actions/ComputerSystem.Reset": s.reset,
		} {
			mux.HandleFunc(pattern+end, s.known(handle))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.survive(r)
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		w.Header().Set("OData-Version", "4.0")
		w.Header().Set("Cache-Control", "no-store")
		if _, pattern := mux.Handler(r); pattern == "" {
			s.unknown(mux, w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// survive ends a request that panics, and says so, at most once a minute.
func (s *service) survive(r *http.Request) {
	problem := recover()
	if problem == nil {
		return
	}
	now := s.now()
	if last := s.said.Load(); last == nil || now.Sub(*last) >= time.Minute {
		s.said.Store(&now)
		s.Say(fmt.Sprintf("a request from %s could not be handled: %v\n%s", sourceOf(r), problem, debug.Stack()))
	}
	panic(http.ErrAbortHandler) // the server closes the connection
}

// unknown answers for what there is not, after the password, so that strangers do not learn names.
func (s *service) unknown(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	s.known(func(w http.ResponseWriter, r *http.Request) {
		plain := &status{}
		mux.ServeHTTP(plain, r) // 405 or 404, in plain text
		if plain.code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", plain.Header().Get("Allow"))
			fail(w, plain.code, "GeneralError", "this resource has no "+r.Method)
			return
		}
		fail(w, http.StatusNotFound, "ResourceMissingAtURI", "nothing exists at "+r.URL.Path)
	})(w, r)
}

// status keeps the code of an answer and its header, and throws the text away.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}
func (s *status) Write(text []byte) (int, error) { return len(text), nil }
func (s *status) WriteHeader(code int)           { s.code = code }

// object is a resource.
type object map[string]any

func link(path string) object { return object{"@odata.id": path} }

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone needs none
}

// fail answers with an error, as DSP0266 has them (8.6), with a message of the registry Base.
func fail(w http.ResponseWriter, code int, message, text string) {
	id := "Base.1.8." + message
	answer(w, code, object{"error": object{
		"code": id, "message": text,
		"@Message.ExtendedInfo": []object{{"@odata.type": "#Message.v1_1_1.Message", "MessageId": id, "Message": text, "Severity": "Critical", "Resolution": "None"}},
	}})
}

// body reads a request's JSON; false if it has been answered.
func body(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(r.Body)
	err := decoder.Decode(into)
	if err == nil && decoder.Decode(&struct{}{}) != io.EOF {
		err = errors.New("data follows the object")
	}
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		fail(w, http.StatusRequestEntityTooLarge, "GeneralError", fmt.Sprintf("a request has at most %d bytes", tooLong.Limit))
		return false
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "MalformedJSON", "the body is not the expected JSON: "+err.Error())
		return false
	}
	return true
}

package configfile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/spillway-go/spillway/admission"
)

type watchSettings struct {
	logger *slog.Logger
	hangup bool
	poll   time.Duration
}

// Logger sets where [Watch] logs that the system does not tell it of changes, so that
// it only polls (Warn). What becomes of a config is logged by the controller, see
// [admission.WithLogger]. Nil discards, as does leaving it out.
func Logger(l *slog.Logger) Option { return func(s *settings) { s.watch.logger = l } }

// OnHangup has [Watch] read the file also when the process gets SIGHUP, and apply it
// even if nothing in it has changed.
func OnHangup() Option { return func(s *settings) { s.watch.hangup = true } }

// Poll sets how often [Watch] looks at the file although it was not told of a change.
// Zero: 30 s. At least 10 ms.
func Poll(every time.Duration) Option { return func(s *settings) { s.watch.poll = every } }

// Watch keeps the controller's config as the file says, until ctx ends; it blocks for
// as long, so that its one goroutine is the caller's:
//
//	go configfile.Watch(ctx, path, ctrl)
//
// With the [Env] that Load had, if it had one, the same variables override every
// version of the file. It reads the file at once, in case it says something else than
// what is in force, as one that has changed since [Load] does, and then within a
// second of each change: rewritten, replaced by a rename, deleted and made anew, or
// reached by a symbolic link that points elsewhere, as the files of a Kubernetes
// ConfigMap are. (One mounted with subPath never changes.) Where the system tells
// nothing of changes, it polls, see [Poll].
//
// The config is put in force whole by [admission.Controller.Apply]. A file that is
// missing, half-written or wrong changes nothing: it is counted, its errors are logged
// once, and both the controller's statistics (Stats().Config) and whoever reads them
// show it until a good one is applied. So it is with a file that leaves out a lane to
// which requests have come: the program names it, and would be refused its requests. A
// file whose bytes are the same as before is left alone.
//
// The error is nil when ctx has ended, [admission.ErrClosed] when the controller is
// closed, or says what is wrong with the arguments.
func Watch(ctx context.Context, path string, ctrl *admission.Controller, opts ...Option) error {
	s := gather(opts)
	if s.watch.poll == 0 {
		s.watch.poll = defaultPoll
	}
	switch {
	case ctrl == nil:
		return errors.New("configfile: Watch of a nil Controller")
	case path == "":
		return errors.New("configfile: Watch of a file without a name")
	case s.watch.poll < 10*time.Millisecond:
		return fmt.Errorf("configfile: poll is %v: must be at least 10ms", s.watch.poll)
	}
	if s.watch.logger == nil {
		s.watch.logger = slog.New(slog.DiscardHandler)
	}
	s.check = checkFor(ctrl)
	w := watcher{path: path, ctrl: ctrl, settings: s}
	if notify, err := fsnotify.NewWatcher(); err == nil {
		w.notify = notify
		defer notify.Close()
	} else {
		w.deaf(err)
	}
	return w.run(ctx)
}

// watcher is what Watch knows.
type watcher struct {
	path string
	ctrl *admission.Controller
	settings

	notify  *fsnotify.Watcher // nil: the system does not tell
	watched []string          // folders
	isDeaf  bool

	seen     [sha256.Size]byte // of the bytes that were judged last
	unread   string            // why the file could not be read the last time
	settling settling
}

func (w *watcher) run(ctx context.Context) error {
	var events <-chan fsnotify.Event
	var problems <-chan error
	if w.notify != nil {
		events, problems = w.notify.Events, w.notify.Errors
	}
	hangups := make(chan os.Signal, 1)
	if w.watch.hangup {
		signal.Notify(hangups, syscall.SIGHUP)
		defer signal.Stop(hangups)
	}
	poll := time.NewTicker(w.watch.poll)
	defer poll.Stop()
	settled := time.NewTimer(time.Hour)
	defer settled.Stop()

	w.follow()
	err := w.look(false)
	for !errors.Is(err, admission.ErrClosed) {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-events:
			w.settling.changed(time.Now())
			if !ok { // the system does not tell any more
				events, problems = nil, nil
				w.deaf(errors.New("no more events"))
			}
		case <-problems: // some event may have been lost
			w.settling.changed(time.Now())
		case <-poll.C:
			w.follow()
			err = w.look(false)
		case <-hangups:
			err = w.look(true)
		case <-settled.C:
			w.settling = settling{}
			w.follow()
			err = w.look(false)
		}
		if due, ok := w.settling.due(); ok {
			settled.Reset(time.Until(due))
		}
	}
	return admission.ErrClosed
}

// look reads the file and applies it if it is another one than before, or in any case.
func (w *watcher) look(inAnyCase bool) error {
	data, err := readFile(w.path)
	if err != nil {
		// A file that comes back is to be applied, be it the same as before, since
		// the statistics say that it is not in force.
		w.seen = [sha256.Size]byte{}
		if err.Error() != w.unread {
			w.unread = err.Error()
			w.ctrl.RefuseConfig(fmt.Errorf("configfile: %w", err))
		}
		return nil
	}
	w.unread = ""
	sum := sha256.Sum256(data)
	if sum == w.seen && !inAnyCase {
		return nil
	}
	first := w.seen == [sha256.Size]byte{}
	w.seen = sum
	cfg, err := parse(w.path, data, w.settings)
	if err != nil {
		w.ctrl.RefuseConfig(err)
		return nil
	}
	if first && !inAnyCase && w.inForce(cfg) {
		return nil
	}
	return w.ctrl.Apply(cfg)
}

// inForce reports whether nothing would change by applying the config.
func (w *watcher) inForce(cfg admission.Config) bool {
	s := w.ctrl.Stats()
	return s.Config.Err == nil && !s.Closed && reflect.DeepEqual(cfg.WithDefaults(), w.ctrl.Config())
}

// follow watches the folders in which a change of the file can show: those of the name,
// of each link on the way, and of what it leads to. A folder is watched rather than the
// file, since a file that is replaced takes its watch with it.
func (w *watcher) follow() {
	if w.notify == nil {
		return
	}
	folders, err := foldersOf(w.path)
	if err != nil {
		w.deaf(err)
		return
	}
	for _, dir := range w.watched {
		if !slices.Contains(folders, dir) {
			_ = w.notify.Remove(dir) // gone with the folder, as likely as not
		}
	}
	w.watched = w.watched[:0]
	for _, dir := range folders {
		// Adding again is free, and is needed where a folder was replaced by another.
		switch err := w.notify.Add(dir); {
		case err == nil:
			w.watched = append(w.watched, dir)
		case !errors.Is(err, fs.ErrNotExist):
			w.deaf(err)
		}
	}
}

// deaf says once that changes are only found by polling.
func (w *watcher) deaf(err error) {
	if !w.isDeaf {
		w.isDeaf = true
		w.watch.logger.LogAttrs(context.Background(), slog.LevelWarn, "config file is only polled",
			slog.String("path", w.path), slog.Duration("every", w.watch.poll), slog.Any("error", err))
	}
}

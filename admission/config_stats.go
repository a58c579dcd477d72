package admission

import (
	"context"
	"log/slog"
	"time"
)

// ConfigStats tells how changes of the config went.
type ConfigStats struct {
	Version uint64    // configs put in force, the one of New being the first
	Applied time.Time // when the one in force was
	Refused uint64    // configs that were not put in force
	Err     error     // why the last one was not; nil: it is in force
}

// RefuseConfig counts a config that did not come as far as Apply, since it could
// not be read, and logs why (Warn). The config in force stays. It is for those who
// read configs, such as package configfile; nil has no effect.
func (c *Controller) RefuseConfig(err error) {
	if c == nil || err == nil {
		return
	}
	c.mu.Lock()
	c.mu.config.Refused++
	c.mu.config.Err = err
	c.mu.Unlock()
	c.opts.logger.LogAttrs(context.Background(), slog.LevelWarn, "config refused", slog.Any("error", err))
}

// acceptedLocked counts a config that is in force now.
func (c *Controller) acceptedLocked() {
	c.mu.config.Version++
	c.mu.config.Applied, c.mu.config.Err = time.Now(), nil
}

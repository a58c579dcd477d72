//go:build !linux

package regulators

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

func hostRoot() (fs.FS, error) {
	return nil, fmt.Errorf("%w on %s, only on linux", errors.ErrUnsupported, runtime.GOOS)
}

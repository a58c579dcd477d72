package configfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// foldersOf lists the folders where it is decided what a path leads to: the one that
// the file is in, and each that holds a symbolic link on the way there. A ConfigMap's
// config.yaml is a link to ..data/config.yaml, where ..data is a link to a folder with
// a new name each time: for it these are the folder of the name and that folder. Where
// the way ends early, the last is the folder that wants the next name. None of the
// paths has a link in it.
func foldersOf(path string) (folders []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	const mostLinks = 40 // more are a circle, also for the kernel
	root := func(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }
	at, names := root(path), parts(path)
	for links := 0; len(names) > 0; {
		name := names[0]
		names = names[1:]
		next := filepath.Join(at, name) // resolves . and .. too: no link is before them
		info, err := os.Lstat(next)
		if err != nil || len(names) == 0 || info.Mode()&fs.ModeSymlink != 0 {
			folders = append(folders, at)
		}
		if err != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > mostLinks {
			break
		}
		if filepath.IsAbs(to) {
			at = root(to)
		}
		names = append(parts(to), names...)
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// parts splits a path at its separators.
func parts(path string) []string {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

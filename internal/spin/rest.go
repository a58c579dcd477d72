package spin

// Rest lasts some five to twenty microseconds. Who works long under a lock, and gives it
// up now and then for those who wait, rests before he takes it back: so long that the lock
// is free for most of the time, and they find it so in one look or two. It does not yield
// the processor, which on a busy machine could take milliseconds each time.
func Rest() {
	for range longPause * 5 / 8 {
	}
}

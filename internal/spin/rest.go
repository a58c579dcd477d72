package spin

// Rest lasts some five to twenty microseconds. Who works long under a lock, and gives it
// up now and then for those who wait, rests before he takes it back: a little longer than
// their longest pause, so that each of them looks once. It does not yield the processor,
// which on a busy machine could take milliseconds each time.
func Rest() {
	for range longPause + longPause/4 {
	}
}

package spin

// Rest lasts about half a microsecond. Who works long under a lock, and gives it up
// now and then for those who wait, rests before he takes it back: else he mostly would
// be the first to find it free. It does not yield the processor, which on a busy
// machine could take milliseconds each time.
func Rest() {
	for range 1500 {
	}
}

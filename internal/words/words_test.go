package words

import (
	"encoding/binary"
	"testing"
)

func TestLoad(t *testing.T) {
	for _, s := range []string{"abcdefgh", "\x00\x01\x02\x03\xfc\xfd\xfe\xff and more"} {
		if got, want := Load32(s), uint64(binary.LittleEndian.Uint32([]byte(s))); got != want {
			t.Errorf("Load32(%q) is %x, want %x", s, got, want)
		}
		if got, want := Load64(s), binary.LittleEndian.Uint64([]byte(s)); got != want {
			t.Errorf("Load64(%q) is %x, want %x", s, got, want)
		}
	}
}

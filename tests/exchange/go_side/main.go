// The side of Go's two libraries in libraries_test.py, which says what the questions are: a kind is
// go (bits-and-blooms) or dcso. A question is a line of JSON, and so is the answer, in which bytes
// are base64. Beside what every side knows there is, of bits-and-blooms,
//
//	form TO FILTER        the same filter, written in this form
//
// A form is big or little, the byte order, and words-big or words-little, which is what FromWithM
// makes of the words.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	dcso "github.com/DCSO/bloom"
	"github.com/bits-and-blooms/bitset"
	"github.com/bits-and-blooms/bloom/v3"
)

type question struct {
	Command, Kind, To string
	N                 uint64
	P                 float64
	Filter            []byte
	Keys              [][]byte
}

type filter struct {
	add   func(key []byte)
	check func(key []byte) bool
	write func(out io.Writer) error
}

func ofGo(f *bloom.BloomFilter) filter {
	add := func(key []byte) { f.Add(key) }
	write := func(out io.Writer) error {
		_, err := f.WriteTo(out)
		return err
	}
	return filter{add, f.Test, write}
}

func ofDCSO(f *dcso.BloomFilter) filter {
	return filter{f.Add, f.Check, f.Write}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open(q question) filter {
	isGo, in := q.Kind == "go", bytes.NewReader(q.Filter)
	if q.Command == "make" && isGo {
		return ofGo(bloom.NewWithEstimates(uint(q.N), q.P))
	}
	if q.Command == "make" {
		f := dcso.Initialize(q.N, q.P)
		return ofDCSO(&f)
	}
	if !isGo {
		f := &dcso.BloomFilter{}
		must(f.Read(in))
		return ofDCSO(f)
	}
	f := &bloom.BloomFilter{}
	_, err := f.ReadFrom(in)
	must(err)
	if strings.HasPrefix(q.To, "words") {
		f = bloom.FromWithM(f.BitSet().Words(), f.Cap(), f.K())
	}
	if strings.HasSuffix(q.To, "little") {
		bitset.LittleEndian()
	}
	return ofGo(f)
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q question
		if in.Decode(&q) != nil {
			return
		}
		f := open(q)
		if q.Command == "check" {
			var answers strings.Builder
			for _, key := range q.Keys {
				answers.WriteByte(map[bool]byte{false: '0', true: '1'}[f.check(key)])
			}
			must(out.Encode(answers.String()))
			continue
		}
		for _, key := range q.Keys {
			f.add(key)
		}
		var written bytes.Buffer
		must(f.write(&written))
		bitset.BigEndian()
		must(out.Encode(written.Bytes()))
	}
}

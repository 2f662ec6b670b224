// The side of Go's two libraries in libraries_test.py, which says what the lines are: a kind is go
// (bits-and-blooms) or dcso. Beside what every side knows there are
//
//	form FROM TO FILTER         the same filter of bits-and-blooms, read and written in these forms
//	short WORDS M K KEY...      a filter of FromWithM with so many words, with these keys
//
// A form is big or little, the byte order, and words-big or words-little, which is what FromWithM
// makes of the words.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	dcso "github.com/DCSO/bloom"
	"github.com/bits-and-blooms/bitset"
	"github.com/bits-and-blooms/bloom/v3"
)

type filter interface {
	add(key []byte)
	check(key []byte) bool
	write() []byte
}

type goFilter struct{ f *bloom.BloomFilter }
type dcsoFilter struct{ f *dcso.BloomFilter }

func (s goFilter) add(key []byte)          { s.f.Add(key) }
func (s goFilter) check(key []byte) bool   { return s.f.Test(key) }
func (s dcsoFilter) add(key []byte)        { s.f.Add(key) }
func (s dcsoFilter) check(key []byte) bool { return s.f.Check(key) }

func (s goFilter) write() []byte {
	var out bytes.Buffer
	_, err := s.f.WriteTo(&out)
	must(err)
	return out.Bytes()
}

func (s dcsoFilter) write() []byte {
	var out bytes.Buffer
	must(s.f.Write(&out))
	return out.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func create(library string, n uint64, p float64) filter {
	if library == "go" {
		return goFilter{bloom.NewWithEstimates(uint(n), p)}
	}
	f := dcso.Initialize(n, p)
	return dcsoFilter{&f}
}

func read(library string, word string) filter {
	in := bytes.NewReader(unhex(word))
	if library == "go" {
		f := &bloom.BloomFilter{}
		_, err := f.ReadFrom(in)
		must(err)
		return goFilter{f}
	}
	f := dcso.BloomFilter{}
	must(f.Read(in))
	return dcsoFilter{&f}
}

func unhex(word string) []byte {
	out, err := hex.DecodeString(word[1:])
	must(err)
	return out
}

func number(word string) uint {
	out, err := strconv.ParseUint(word, 10, 64)
	must(err)
	return uint(out)
}

func order(form string) {
	if strings.HasSuffix(form, "little") {
		bitset.LittleEndian()
	} else {
		bitset.BigEndian()
	}
}

func answer(words []string) (line string) {
	defer func() {
		if problem := recover(); problem != nil {
			line = fmt.Sprint("error: ", problem)
		}
	}()
	var f filter
	var keys []string
	switch words[0] {
	case "form":
		defer bitset.BigEndian()
		order(words[1])
		f = read("go", words[3])
		if strings.HasPrefix(words[2], "words") {
			old := f.(goFilter).f
			f = goFilter{bloom.FromWithM(old.BitSet().Words(), old.Cap(), old.K())}
		}
		order(words[2])
	case "short":
		f = goFilter{bloom.FromWithM(make([]uint64, number(words[1])), number(words[2]),
			number(words[3]))}
		keys = words[4:]
	case "put", "check":
		f, keys = read(words[1], words[2]), words[3:]
	default:
		n, err := strconv.ParseUint(words[2], 10, 64)
		must(err)
		p, err := strconv.ParseFloat(words[3], 64)
		must(err)
		f, keys = create(words[1], n, p), words[4:]
	}
	var answers strings.Builder
	for _, word := range keys {
		key := unhex(word)
		if words[0] != "check" {
			f.add(key)
		} else if f.check(key) {
			answers.WriteByte('1')
		} else {
			answers.WriteByte('0')
		}
	}
	if words[0] == "check" {
		return answers.String()
	}
	return "x" + hex.EncodeToString(f.write())
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Println(answer(strings.Fields(line)))
	}
}

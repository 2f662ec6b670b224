module x

go 1.22

require (
	github.com/DCSO/bloom v0.2.4 // indirect
	github.com/bits-and-blooms/bitset v1.24.2 // indirect
	github.com/bits-and-blooms/bloom/v3 v3.7.1 // indirect
)

// go run mattn.go PATH_OF_THE_LIBRARY, with github.com/mattn/go-sqlite3
package main

import (
	"crypto/md5"
	"database/sql"
	"fmt"
	"os"

	"github.com/mattn/go-sqlite3"
)

func main() {
	sql.Register("sqlite3-bloom", &sqlite3.SQLiteDriver{Extensions: []string{os.Args[1]}})
	database, err := sql.Open("sqlite3-bloom", ":memory:")
	check(err)
	var f []byte
	check(database.QueryRow(
		"SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))").Scan(&f))
	fmt.Printf("md5 %x\n", md5.Sum(f))
	var found string
	check(database.QueryRow(
		"SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)",
		f, 42).Scan(&found))
	fmt.Println("found", found)
	fmt.Println("error", database.QueryRow("SELECT bloom_check(NULL, 1)").Scan(&found))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

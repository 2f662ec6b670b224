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
	database.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	_, err = database.Exec(`CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
		(VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c`)
	check(err)
	var f []byte
	check(database.QueryRow("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers").Scan(&f))
	fmt.Printf("md5 %x\n", md5.Sum(f))
	var found string
	check(database.QueryRow(`SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
		sum(bloom_check(?1, 'absent-' || i)) FROM numbers`, f).Scan(&found))
	fmt.Println("found", found)
	var integer int
	check(database.QueryRow("SELECT bloom_check(bloom_agg(42), ?)", 42).Scan(&integer))
	fmt.Println("integer", integer)
	err = database.QueryRow("SELECT bloom_check(NULL, 1)").Scan(&integer)
	fmt.Println("error", err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

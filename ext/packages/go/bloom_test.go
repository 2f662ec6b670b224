package bloom_test

import (
	"database/sql"
	"fmt"

	bloom "@GO_MODULE@"
)

func ExampleRegister() {
	if err := bloom.Register(); err != nil {
		panic(err)
	}
	database, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		panic(err)
	}
	defer database.Close()
	var found bool
	query := "SELECT bloom_check(bloom_add(bloom_new(100), ?1), ?1)"
	if err := database.QueryRow(query, "a").Scan(&found); err != nil {
		panic(err)
	}
	fmt.Println(found)
	// Output: true
}

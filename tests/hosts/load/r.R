# Rscript r.R PATH_OF_THE_LIBRARY, with the package RSQLite
library(DBI)

database <- dbConnect(RSQLite::SQLite(), ":memory:", loadable.extensions = TRUE)
path <- commandArgs(trailingOnly = TRUE)[1]
invisible(dbGetQuery(database, "SELECT load_extension(?)", list(path)))
invisible(dbExecute(database, "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c"))
one <- function(...) dbGetQuery(database, ...)[[1]][[1]]
f <- one("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers")
file <- tempfile()
writeBin(f, file)
cat("md5", unname(tools::md5sum(file)), "\n")
cat("found", one("SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
  sum(bloom_check(?1, 'absent-' || i)) FROM numbers", list(list(f))), "\n")
cat("integer", one("SELECT bloom_check(bloom_agg(42), ?)", list(42L)), "\n")
tryCatch(one("SELECT bloom_check(NULL, 1)"),
         error = function(error) cat("error", conditionMessage(error), "\n"))

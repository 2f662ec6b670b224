# Rscript r.R PATH_OF_THE_LIBRARY, with the package RSQLite
library(DBI)

database <- dbConnect(RSQLite::SQLite(), ":memory:", loadable.extensions = TRUE)
path <- commandArgs(trailingOnly = TRUE)[1]
invisible(dbGetQuery(database, "SELECT load_extension(?)", list(path)))
one <- function(...) dbGetQuery(database, ...)[[1]][[1]]
f <- one("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))")
file <- tempfile()
writeBin(f, file)
cat("md5", unname(tools::md5sum(file)), "\n")
cat("found", one("SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)",
                 list(list(f), 42L)), "\n")
tryCatch(one("SELECT bloom_check(NULL, 1)"),
         error = function(error) cat("error", conditionMessage(error), "\n"))

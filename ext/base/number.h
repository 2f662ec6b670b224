/* Numbers as text, the same in every locale. */
#ifndef BLOOM_BASE_NUMBER_H
#define BLOOM_BASE_NUMBER_H

/* Room for any number with 17 digits: sign, digits, point, exponent; and some for a decimal point
 * of several bytes, while it is there. */
#define BLOOM_NUMBER_SIZE 40

/* Writes number with at most `digits` (1 to 17) significant digits, as %g does, but always with a
 * point as its decimal point, whatever the program's locale says. Returns text. */
char *bloom_number_text(char text[BLOOM_NUMBER_SIZE], double number, int digits);

/* Writes a number that is not NaN as SQLite makes text of a REAL: with 15 digits, but always a
 * point (3.0, 1.0e+21), and Inf. Returns text. */
char *bloom_number_sql_text(char text[BLOOM_NUMBER_SIZE], double number);

#endif

#include "random.h"
void random_tables(void) {
}

/* The release that these sources belong to: the one place from which everything takes it. */
#ifndef BLOOM_BASE_VERSION_H
#define BLOOM_BASE_VERSION_H

#define BLOOM_RELEASE "1.1.0"

#endif

/* A keyed 64-bit hash of bytes.
 *
 * It follows the multiply-and-fold of wyhash (Wang Yi, public domain): the two halves of a 64 × 64
 * → 128 bit product are xored. With a secret key, nobody outside can choose targets for one bucket
 * of the cache; it is not a MAC. SipHash would be safer and costs four times as much for a target
 * of 50 bytes. */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
    uint64_t a;
    uint64_t b;
};

/* Fill a key from the kernel's random source; -1 with errno if it has none. */
int hash_key_random(struct hash_key *key);

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t size);

#endif

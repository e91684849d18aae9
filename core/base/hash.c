/* The keyed hash. Reads are unaligned and in the machine's byte order: a hash leaves the process
 * only inside an ETag, where another machine's value only causes a miss. */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

/* Odd constants with as many ones as zeros; they only have to differ from each other. */
#define ODD_1 0x9e3779b97f4a7c15u
#define ODD_2 0xc2b2ae3d27d4eb4fu

int hash_key_random(struct hash_key *key)
{
    return getrandom(key, sizeof *key, 0) == (ssize_t)sizeof *key ? 0 : -1;
}

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t read_64(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static uint64_t read_32(const unsigned char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t state = key->a ^ (size * ODD_1);
    size_t left = size;
    while (left > 16) {
        state = fold(read_64(bytes) ^ key->b, read_64(bytes + 8) ^ state);
        bytes += 16;
        left -= 16;
    }
    /* The last 0 to 16 bytes as two words that may overlap. */
    uint64_t low = 0, high = 0;
    if (left >= 8) {
        low = read_64(bytes);
        high = read_64(bytes + left - 8);
    } else if (left >= 4) {
        low = read_32(bytes);
        high = read_32(bytes + left - 4);
    } else if (left > 0) {
        low = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[left / 2] << 8 | bytes[left - 1];
    }
    state = fold(low ^ key->b, high ^ state);
    return fold(state ^ ODD_2, key->b ^ ODD_1);
}

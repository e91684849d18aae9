/* Foresight: the look-ups that the next requests of a pipeline will make, begun before they are
 * parsed.
 *
 * DESIGN. Where there are more answers than the caches hold, a look-up waits for its bucket, and
 * then for its answer. So where the bytes behind a request look like more of the kind, their
 * targets are guessed and told to the store all at once. A guess is checked by whoever uses it, and
 * nothing depends on it but time.
 */
#ifndef CORE_CACHE_PREFETCH_H
#define CORE_CACHE_PREFETCH_H

#include "base/slice.h"
#include "cache/cache.h"
#include "http/head.h"

/* What is foreseen within one turn, in the order in which it is asked for. */
struct foresight {
    int next; /* the one that is asked for next */
    int count;
    struct slice targets[STORE_FORESEEN];
    uint64_t hashes[STORE_FORESEEN];
};

static inline void foresight_init(struct foresight *foresight)
{
    foresight->next = foresight->count = 0;
}

/* Foresee the requests at the start of `in`, as far as they look like `head`, the one before. */
void foresight_look(struct foresight *foresight, const struct store *store, struct slice in,
                    const struct head *head);

/* The hash of the next request's target. */
uint64_t foresight_take(struct foresight *foresight, const struct store *store,
                        struct slice target);

static inline bool foresight_is_spent(const struct foresight *foresight)
{
    return foresight->next == foresight->count;
}

#endif

/* The foresight; see prefetch.h for the design. */
#include "cache/prefetch.h"

#include "base/limits.h"

void foresight_look(struct foresight *foresight, const struct store *store, struct slice in,
                    const struct head *head)
{
    enum { BEFORE = sizeof "GET " - 1 };
    int count = 0;
    while (count < STORE_FORESEEN && in.size > BEFORE) {
        slice_skip(&in, BEFORE);
        const char *end = memchr(in.data, ' ', in.size < LIMIT_TARGET ? in.size : LIMIT_TARGET);
        if (!end)
            break;
        struct slice target = slice_of(in.data, (size_t)(end - in.data));
        foresight->targets[count] = target;
        foresight->hashes[count++] = store_hash(store, target);
        size_t size = target.size + 1 + head->rest.size;
        if (size > in.size)
            break;
        slice_skip(&in, size);
    }
    foresight->next = 0;
    foresight->count = count;
    store_foresee(store, foresight->hashes, count);
}

uint64_t foresight_take(struct foresight *foresight, const struct store *store, struct slice target)
{
    if (!foresight_is_spent(foresight)) {
        int next = foresight->next++;
        const struct slice *guess = &foresight->targets[next];
        if (guess->data == target.data && guess->size == target.size)
            return foresight->hashes[next];
    }
    return store_hash(store, target);
}

/* cache/: entries, purges and shared heads. */
#include "base/clock.h"
#include "base/limits.h"
#include "cache/entry.h"
#include "cache/purge.h"
#include "cache/shared_head.h"
#include "check.h"
#include "http/etag.h"
#include "http/response.h"
#include "make.h"

#include <malloc.h>
#include <pthread.h>

/* Entries: a whole reply can be sent again from less than a third of its bytes. */

static struct shared_heads shared_heads;
static struct clock clock_;

/* Returns what is sent of these pieces. */
static struct slice sent(struct buffer *out, struct response_view view)
{
    out->size = 0;
    clock_write_date(784111777, clock_.date);
    CHECK(response_append(out, &view, PERSIST, SLICE(""), &clock_));
    return buffer_slice(out);
}

static void drop(struct entry *entry)
{
    entry_release_head(&shared_heads, entry);
    free(entry);
    CHECK_EQUAL(shared_heads.bytes, 0);
}

static void what_is_sent_is_what_the_reply_would_send(void)
{
    static const char *const bodies[] = {"", "1", "a longer body than that"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply *reply = make_answer("/a?b=c", bodies[i], "t", 5);
        struct entry *entry = entry_new(&shared_heads, reply);
        struct buffer one, other;
        buffer_init(&one);
        buffer_init(&other);
        struct slice whole = sent(&one, entry_full(entry, CODING_IDENTITY));
        CHECK(slice_equal(whole, sent(&other, rendered_view(reply, &reply->full))));
        CHECK(has(whole, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "));
        CHECK(slice_equal(sent(&one, entry_not_modified(entry, CODING_IDENTITY)),
                          sent(&other, rendered_view(reply, &reply->not_modified))));
        struct response_view view = entry_full(entry, CODING_IDENTITY);
        CHECK(slice_equal(response_view_cut_body(&view), text_of(bodies[i])));
        CHECK(slice_equal(slice_of(view.rest.data + view.rest.size - 4, 4), SLICE("\r\n\r\n")));
        char text[ETAG_SIZE];
        CHECK(slice_equal(entry_etag(entry, CODING_IDENTITY), etag_make(text_of(bodies[i]), text)));
        CHECK_TEXT(entry_target(entry), "/a?b=c");
        CHECK_EQUAL(entry->sequence, 5);
        CHECK_EQUAL(entry->tags[0], tag_index(SLICE("t")));
        buffer_fini(&one);
        buffer_fini(&other);
        reply_free(reply);
        drop(entry);
    }
}

/* Of each variant: what asks for it, its body, and its lines. */
static const struct {
    enum coding coding;
    const char *accepted, *body, *lines;
} VARIANTS[] = {
    {CODING_IDENTITY, "identity", "a body", "\r\nContent-Length: 6\r\nETag: \""},
    {CODING_GZIP, "gzip", "coded", "\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\nETag: \""},
    {CODING_BROTLI, "gzip, br", "brief one",
     "\r\nContent-Length: 9\r\nContent-Encoding: br\r\nETag: \""},
};

/* Checks what is kept of an answer that has the variants in `codings`. */
static void keeps_variants(unsigned codings)
{
    const uint32_t tag = 1;
    const struct response response = {
        .status = 200,
        .fields = SLICE("Content-Type: text/plain\r\n"),
        .body = text_of(VARIANTS[0].body),
        .gzip = codings & 1 << CODING_GZIP ? text_of(VARIANTS[1].body) : SLICE(""),
        .brotli = codings & 1 << CODING_BROTLI ? text_of(VARIANTS[2].body) : SLICE(""),
        .tags = &tag,
        .tag_count = 1};
    struct buffer one, other;
    buffer_init(&one);
    buffer_init(&other);
    for (size_t i = 0; i < sizeof VARIANTS / sizeof *VARIANTS; i++) {
        enum coding coding = VARIANTS[i].coding;
        if (coding != CODING_IDENTITY && !(codings & 1u << coding))
            continue;
        char head[128], etag[ETAG_SIZE];
        snprintf(head, sizeof head, "GET /a HTTP/1.1\r\nHost: h\r\nAccept-Encoding: %s\r\n\r\n",
                 VARIANTS[i].accepted);
        struct request *request = make_request(head);
        struct reply *reply = reply_new(request, &response);
        request_free(request);
        struct entry *entry = entry_new(&shared_heads, reply);
        CHECK_EQUAL(entry->codings, codings);
        CHECK(entry_cost(entry) >= malloc_usable_size(entry));
        CHECK(entry_cost(entry) <= malloc_usable_size(entry) + 32);
        CHECK(entry_cost(entry) + shared_heads.bytes <= entry_max_size(reply));
        struct slice whole = sent(&one, entry_full(entry, coding));
        CHECK(slice_equal(whole, sent(&other, reply_view(reply))));
        CHECK(has(whole, "\r\nVary: Accept-Encoding\r\nDate: "));
        CHECK(has(whole, VARIANTS[i].lines));
        struct slice made = etag_make(text_of(VARIANTS[i].body), etag);
        CHECK(slice_equal(entry_etag(entry, coding), made));
        struct response_view view = entry_full(entry, coding);
        CHECK(slice_equal(response_view_cut_body(&view), text_of(VARIANTS[i].body)));
        whole = sent(&one, entry_not_modified(entry, coding));
        CHECK(has(whole, "\r\nVary: Accept-Encoding\r\nDate: "));
        CHECK(memmem(whole.data, whole.size, etag, ETAG_SIZE) != NULL);
        reply_free(reply);
        drop(entry);
    }
    buffer_fini(&one);
    buffer_fini(&other);
}

static void every_variant_of_an_answer_is_kept(void)
{
    keeps_variants(1 << CODING_GZIP);
    keeps_variants(1 << CODING_BROTLI);
    keeps_variants(1 << CODING_GZIP | 1 << CODING_BROTLI);
}

static void the_largest_that_may_be_asked_for_is_kept_whole(void)
{
    static char target[LIMIT_TARGET + 1], text[LIMIT_TARGET + 64];
    memset(target, 'x', LIMIT_TARGET);
    target[0] = '/';
    snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", target);
    uint32_t tags[LIMIT_TAGS];
    for (uint32_t i = 0; i < LIMIT_TAGS; i++)
        tags[i] = i;
    const struct response response = {
        .status = 200, .body = SLICE("body"), .tags = tags, .tag_count = LIMIT_TAGS};
    struct request *request = make_request(text);
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    struct entry *entry = entry_new(&shared_heads, reply);
    reply_free(reply);
    CHECK(slice_equal(entry_target(entry), text_of(target)));
    CHECK_EQUAL(entry->tag_count, LIMIT_TAGS);
    CHECK_EQUAL(memcmp(entry->tags, tags, sizeof tags), 0);
    struct response_view view = entry_full(entry, CODING_IDENTITY);
    CHECK_TEXT(response_view_cut_body(&view), "body");
    drop(entry);
}

/* A count is read from three cache lines of 64 bytes; a long-lived entry has no spare room. */
static void a_small_answer_takes_three_cache_lines(void)
{
    struct reply *reply =
        make_answer("/api/comments/count?url=/post/1234/", "{\"count\":12}", "t", 0);
    struct entry *entry = entry_new(&shared_heads, reply);
    CHECK(entry_cost(entry) <= 3 * 64);
    CHECK(entry_cost(entry) >= malloc_usable_size(entry));
    CHECK(entry_cost(entry) <= malloc_usable_size(entry) + 32);
    CHECK(entry_cost(entry) + shared_heads.bytes <= entry_max_size(reply));
    reply_free(reply);
    drop(entry);
}

/* Purges: an answer that was requested before a purge is stale, one requested after it is fresh. */

static struct purge_table purges;

static uint32_t slot_of(const char *tag)
{
    return tag_index(slice_of(tag, strlen(tag)));
}

static bool spares(const char *tag, uint64_t since)
{
    uint32_t slot = slot_of(tag);
    return purge_is_fresh(&purges, &slot, 1, since);
}

static void a_purge_makes_stale_what_was_asked_for_before_it(void)
{
    uint64_t before = purge_now(&purges);
    CHECK(spares("thread:1", before));
    purge_add(&purges, slot_of("thread:1"));
    uint64_t after = purge_now(&purges);
    CHECK(!spares("thread:1", before));
    CHECK(spares("thread:1", after));
    CHECK(spares("thread:2", before));
    purge_add(&purges, slot_of("thread:1"));
    CHECK(!spares("thread:1", after));
}

static void a_purge_of_everything_is_one_of_each_tag(void)
{
    uint64_t before = purge_now(&purges);
    purge_all(&purges);
    uint64_t after = purge_now(&purges);
    CHECK(!spares("thread:1", before));
    CHECK(!spares("never purged", before));
    CHECK(spares("thread:1", after));
    purge_add(&purges, slot_of("thread:1"));
    CHECK(!spares("thread:1", after));
    CHECK(spares("never purged", after));
}

static void a_lease_holds_until_the_latest_clock_may_have_reached_it(void)
{
    static struct purge_table leased;
    CHECK(purge_lease_holds(&leased, INT64_MAX));
    purge_set_lease(&leased, 1000);
    CHECK(purge_lease_holds(&leased, 1000 - CLOCK_LATE_MS - 1));
    CHECK(!purge_lease_holds(&leased, 1000 - CLOCK_LATE_MS));
    CHECK(!purge_lease_holds(&leased, 5000));
}

static void one_purged_tag_of_many_is_enough(void)
{
    uint32_t slots[3] = {slot_of("a"), slot_of("b"), slot_of("c")};
    uint64_t before = purge_now(&purges);
    CHECK(purge_is_fresh(&purges, slots, 3, before));
    purge_add(&purges, slots[2]);
    CHECK(!purge_is_fresh(&purges, slots, 3, before));
    CHECK(purge_is_fresh(&purges, slots, 2, before));
    CHECK(purge_is_fresh(&purges, slots, 0, before));
}

enum { ROUNDS = 200000, PURGERS = 3 };

static void *purge_often(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = purge_now(&purges);
        uint32_t slot = *(uint32_t *)argument;
        purge_add(&purges, slot);
        if (purge_is_fresh(&purges, &slot, 1, before))
            return argument;
    }
    return NULL;
}

/* Several threads purge one tag: no purge is undone by one with an earlier number. */
static void purges_of_one_tag_at_once_all_count(void)
{
    pthread_t pthreads[PURGERS];
    uint32_t slot = slot_of("contended");
    uint64_t before = purge_now(&purges);
    for (int i = 0; i < PURGERS; i++)
        CHECK_EQUAL(pthread_create(&pthreads[i], NULL, purge_often, &slot), 0);
    for (int i = 0; i < PURGERS; i++) {
        void *lost;
        pthread_join(pthreads[i], &lost);
        CHECK(lost == NULL);
    }
    uint64_t after = purge_now(&purges);
    CHECK_EQUAL(after - before, PURGERS * ROUNDS);
    CHECK(!purge_is_fresh(&purges, &slot, 1, after - 1));
    CHECK(purge_is_fresh(&purges, &slot, 1, after));
}

/* Shared heads: equal heads are stored once, as long as an answer uses them. */

/* Returns the head of an answer with this additional field. */
static struct shared_head *share(const char *field)
{
    char fields[64];
    snprintf(fields, sizeof fields, "A: 1\r\n%s\r\n", field);
    const uint32_t slot = 1;
    const struct response response = {
        .status = 200, .fields = text_of(fields), .tags = &slot, .tag_count = 1};
    struct request *request = make_request(GET("/"));
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    struct response_view whole = rendered_view(reply, &reply->full);
    struct response_view brief = rendered_view(reply, &reply->not_modified);
    struct shared_head *shared_head = shared_heads_acquire(&shared_heads, &whole, &brief);
    CHECK_EQUAL(memcmp(shared_head->bytes, whole.shared.data, whole.shared.size), 0);
    CHECK_EQUAL(shared_head->full_size, whole.shared.size);
    CHECK_EQUAL(
        memcmp(shared_head->bytes + whole.shared.size, brief.shared.data, brief.shared.size), 0);
    CHECK_EQUAL(shared_head->not_modified_size, brief.shared.size);
    CHECK_EQUAL(memcmp(shared_head->bytes + shared_head->full_date - 6, "Date: ", 6), 0);
    reply_free(reply);
    return shared_head;
}

static void equal_heads_share_one_and_others_do_not(void)
{
    struct shared_head *one = share("B: 2"), *same = share("B: 2"), *other = share("B: 3");
    CHECK(one == same);
    CHECK(one != other);
    /* Fields about the body are not in the 304, so only the other head tells these apart. */
    struct shared_head *typed = share("Content-B: 2");
    CHECK(typed != one && typed != share("Content-B: 3"));
    shared_heads_release(&shared_heads, one);
    CHECK_EQUAL(one->users, 1);
    while (shared_heads.bytes > 0)
        for (int i = 0; i < SHARED_HEADS_REMEMBERED; i++)
            if (shared_heads.remembered[i])
                shared_heads_release(&shared_heads, shared_heads.remembered[i]);
}

static void one_goes_with_its_last_answer(void)
{
    struct shared_head *first = share("B: 2");
    size_t bytes = shared_heads.bytes;
    CHECK(bytes > 0);
    (void)share("B: 2");
    CHECK_EQUAL(shared_heads.bytes, bytes);
    shared_heads_release(&shared_heads, first);
    CHECK_EQUAL(shared_heads.bytes, bytes);
    shared_heads_release(&shared_heads, first);
    CHECK_EQUAL(shared_heads.bytes, 0);
    CHECK_EQUAL(share("B: 2")->users, 1);
    shared_heads_release(&shared_heads, shared_heads.remembered[0]);
}

/* With more heads than can be remembered, each stays right for the answers that have it. */
static void many_heads_share_less_and_lose_nothing(void)
{
    enum { HEADS = 3 * SHARED_HEADS_REMEMBERED };
    struct shared_head *all[2 * HEADS];
    for (int i = 0; i < 2 * HEADS; i++) {
        char field[32];
        snprintf(field, sizeof field, "B: %d", i % HEADS);
        all[i] = share(field);
    }
    for (int i = 0; i < 2 * HEADS; i++) {
        char line[32];
        snprintf(line, sizeof line, "\r\nB: %d\r\n", i % HEADS);
        CHECK(has(slice_of(all[i]->bytes, all[i]->full_size), line));
        shared_heads_release(&shared_heads, all[i]);
    }
    CHECK_EQUAL(shared_heads.bytes, 0);
    for (int i = 0; i < SHARED_HEADS_REMEMBERED; i++)
        CHECK(!shared_heads.remembered[i]);
}

int main(void)
{
    RUN(what_is_sent_is_what_the_reply_would_send);
    RUN(every_variant_of_an_answer_is_kept);
    RUN(the_largest_that_may_be_asked_for_is_kept_whole);
    RUN(a_small_answer_takes_three_cache_lines);
    RUN(a_purge_makes_stale_what_was_asked_for_before_it);
    RUN(a_purge_of_everything_is_one_of_each_tag);
    RUN(a_lease_holds_until_the_latest_clock_may_have_reached_it);
    RUN(one_purged_tag_of_many_is_enough);
    RUN(purges_of_one_tag_at_once_all_count);
    RUN(equal_heads_share_one_and_others_do_not);
    RUN(one_goes_with_its_last_answer);
    RUN(many_heads_share_less_and_lose_nothing);
    return check_end();
}

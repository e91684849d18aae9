/* Shared heads: equal heads are kept once, and for as long as an answer has them. */
#include "make.h"

#include "cache/shared_head.h"

static struct shared_heads shared_heads;

/* The heads of a made answer with this further field. */
static struct shared_head *share(const char *field)
{
    char fields[64];
    snprintf(fields, sizeof fields, "A: 1\r\n%s\r\n", field);
    const uint32_t place = 1;
    const struct response response = {
        .status = 200, .fields = text_of(fields), .tags = &place, .tag_count = 1};
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
    /* What describes the body is not in the 304, so only the other head tells these apart. */
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

/* More heads than are remembered: each stays right for those that have it. */
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
    RUN(equal_heads_share_one_and_others_do_not);
    RUN(one_goes_with_its_last_answer);
    RUN(many_heads_share_less_and_lose_nothing);
    return check_end();
}

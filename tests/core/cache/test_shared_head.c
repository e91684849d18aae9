/* Stencils: equal heads are kept once, and for as long as an answer has them. */
#include "make.h"

#include "cache/shared_head.h"

static struct stencils stencils;

/* The heads of a made answer with this further field. */
static struct stencil *share(const char *field)
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
    struct stencil *stencil = stencils_share(&stencils, &whole, &brief);
    CHECK_EQUAL(memcmp(stencil->bytes, whole.shared.data, whole.shared.size), 0);
    CHECK_EQUAL(stencil->full_size, whole.shared.size);
    CHECK_EQUAL(memcmp(stencil->bytes + whole.shared.size, brief.shared.data, brief.shared.size),
                0);
    CHECK_EQUAL(stencil->not_modified_size, brief.shared.size);
    CHECK_EQUAL(memcmp(stencil->bytes + stencil->full_date - 6, "Date: ", 6), 0);
    reply_free(reply);
    return stencil;
}

static void equal_heads_share_one_and_others_do_not(void)
{
    struct stencil *one = share("B: 2"), *same = share("B: 2"), *other = share("B: 3");
    CHECK(one == same);
    CHECK(one != other);
    /* What describes the body is not in the 304, so only the other head tells these apart. */
    struct stencil *typed = share("Content-B: 2");
    CHECK(typed != one && typed != share("Content-B: 3"));
    stencils_leave(&stencils, one);
    CHECK_EQUAL(one->users, 1);
    while (stencils.bytes > 0)
        for (int i = 0; i < STENCILS_REMEMBERED; i++)
            if (stencils.remembered[i])
                stencils_leave(&stencils, stencils.remembered[i]);
}

static void one_goes_with_its_last_answer(void)
{
    struct stencil *first = share("B: 2");
    size_t bytes = stencils.bytes;
    CHECK(bytes > 0);
    (void)share("B: 2");
    CHECK_EQUAL(stencils.bytes, bytes);
    stencils_leave(&stencils, first);
    CHECK_EQUAL(stencils.bytes, bytes);
    stencils_leave(&stencils, first);
    CHECK_EQUAL(stencils.bytes, 0);
    CHECK_EQUAL(share("B: 2")->users, 1);
    stencils_leave(&stencils, stencils.remembered[0]);
}

/* More heads than are remembered: each stays right for those that have it. */
static void many_heads_share_less_and_lose_nothing(void)
{
    enum { HEADS = 3 * STENCILS_REMEMBERED };
    struct stencil *all[2 * HEADS];
    for (int i = 0; i < 2 * HEADS; i++) {
        char field[32];
        snprintf(field, sizeof field, "B: %d", i % HEADS);
        all[i] = share(field);
    }
    for (int i = 0; i < 2 * HEADS; i++) {
        char line[32];
        snprintf(line, sizeof line, "\r\nB: %d\r\n", i % HEADS);
        CHECK(has(slice_of(all[i]->bytes, all[i]->full_size), line));
        stencils_leave(&stencils, all[i]);
    }
    CHECK_EQUAL(stencils.bytes, 0);
    for (int i = 0; i < STENCILS_REMEMBERED; i++)
        CHECK(!stencils.remembered[i]);
}

int main(void)
{
    RUN(equal_heads_share_one_and_others_do_not);
    RUN(one_goes_with_its_last_answer);
    RUN(many_heads_share_less_and_lose_nothing);
    return check_end();
}

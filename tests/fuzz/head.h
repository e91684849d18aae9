/* What is allowed of a parsed head, whatever the bytes were. */
#ifndef TESTS_HEAD_H
#define TESTS_HEAD_H

#include "fuzz.h"

#include "base/limits.h"
#include "http/head.h"
#include "http/scan.h"

/* Returns the result of `input` when it arrives little by little. */
static inline int parse_in_pieces(struct slice input, struct head *head)
{
    size_t scanned = 0, end = 0;
    int result = HEAD_NEED_MORE;
    while (end < input.size && result == HEAD_NEED_MORE) {
        end += 1 + (input.size - end) * (end % 3) / 64;
        result = head_parse(slice_of(input.data, end), &scanned, head);
    }
    return result;
}

static inline bool is_refusal(int result)
{
    static const int refusals[] = {400, 413, 414, 417, 431, 501, 505};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (result == refusals[i])
            return true;
    return false;
}

static inline bool is_head_result(int result)
{
    return result == HEAD_DONE || result == HEAD_NEED_MORE || is_refusal(result);
}

/* A refusal that is not known yet when the bytes come in pieces. */
static inline bool is_late(int whole, int in_pieces)
{
    return is_refusal(whole) && in_pieces == HEAD_NEED_MORE;
}

static inline bool is_same(const struct head *a, const struct head *b)
{
    return a->method == b->method && a->http10 == b->http10 && a->keep_alive == b->keep_alive &&
           a->chunked == b->chunked && a->expect_continue == b->expect_continue &&
           a->content_length == b->content_length && slice_equal(a->target, b->target) &&
           a->fields.data == b->fields.data && a->fields.size == b->fields.size &&
           slice_equal(a->if_none_match, b->if_none_match) &&
           slice_equal(a->accept_encoding, b->accept_encoding) && a->size == b->size;
}

/* Returns true if no byte of `text` could be read as a line end except CRLF, and the tab is the
 * only other control character. */
static inline bool has_clean_lines(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte == '\r' && i + 1 < text.size && text.data[i + 1] == '\n')
            i++;
        else if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

static inline bool is_clean(const struct head *head, struct slice input)
{
    struct slice all = slice_of(input.data, head->size), fields = head->fields, value;
    if (head->size > LIMIT_HEAD || head->size > input.size || head->target.size > LIMIT_TARGET ||
        !has_clean_lines(all) || !is_within(fields, all))
        return false;
    while (head_next_field(&fields, SLICE("host"), &value))
        if (!scan_is_field_value(value) || !is_within(value, all))
            return false;
    return !head->chunked || (head->content_length == 0 && !head->http10);
}

#endif

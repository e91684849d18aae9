/* The body decoder: a state machine with the same result for single bytes as for all at once.
 *
 * Chunk extensions and trailers are checked, limited and dropped: no handler uses them, and merging
 * a trailer into the head allows request smuggling. White space in the line of the size, which RFC
 * 9112 section 7.1.1 tolerates around extensions, is refused, since proxies handle it differently.
 */
#include "http/body.h"

#include "base/limits.h"
#include "http/scan.h"

enum state {
    LENGTH,        /* in a body of a known length */
    SIZE,          /* in the digits of a chunk size */
    NAME_START,    /* behind the ";" of an extension */
    NAME,          /* in its name */
    VALUE_START,   /* behind its "=" */
    VALUE,         /* in a value that is a token */
    QUOTED,        /* in one between quotation marks */
    ESCAPED,       /* behind a backslash there */
    QUOTED_END,    /* behind the second mark */
    SIZE_LF,       /* the LF of that line is due */
    DATA,          /* in the payload of a chunk */
    DATA_CR,       /* the CR behind it is due */
    DATA_LF,       /* the LF */
    TRAILER_START, /* at the start of a trailer line, or of the line that ends all */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    END_LF,
};

int body_init(struct body *body, const struct head *head, size_t limit)
{
    *body = (struct body){
        .state = head->chunked ? SIZE : LENGTH, .left = head->content_length, .room = limit};
    return head->content_length > limit ? 413 : 0;
}

static int take_payload(struct body *body, struct slice *input, struct slice *piece)
{
    size_t size = body->left < input->size ? (size_t)body->left : input->size;
    *piece = slice_of(input->data, size);
    slice_skip(input, size);
    body->left -= size;
    return BODY_PIECE;
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static int read_size(struct body *body, char byte)
{
    int digit = hex_digit(byte);
    if (digit >= 0) {
        if (++body->digits > LIMIT_CHUNK_DIGITS)
            return 400;
        body->left = body->left << 4 | (uint64_t)digit;
        return body->left > body->room ? 413 : 0;
    }
    if (body->digits == 0 || (byte != '\r' && byte != ';'))
        return 400;
    body->state = byte == '\r' ? SIZE_LF : NAME_START;
    return 0;
}

/* Go to the state `next` if the byte `fits`; else return 400. */
static int go_on_if(struct body *body, bool fits, enum state next)
{
    body->state = (unsigned char)next;
    return fits ? 0 : 400;
}

/* chunk-ext = *( ";" chunk-ext-name [ "=" chunk-ext-val ] ), RFC 9112 section 7.1.1. */
static int read_extension(struct body *body, char byte)
{
    struct slice one = slice_of(&byte, 1);
    enum state state = body->state;
    bool may_end = state == NAME || state == VALUE || state == QUOTED_END;
    if (may_end && byte == '\r')
        return go_on_if(body, true, SIZE_LF);
    if (++body->extensions > LIMIT_CHUNK_EXTENSIONS)
        return 400;
    if (may_end && byte == ';')
        return go_on_if(body, true, NAME_START);
    switch (state) {
    case NAME_START:
        return go_on_if(body, scan_is_token(one), NAME);
    case NAME:
        return byte == '=' ? go_on_if(body, true, VALUE_START)
                           : go_on_if(body, scan_is_token(one), NAME);
    case VALUE_START:
        return byte == '"' ? go_on_if(body, true, QUOTED)
                           : go_on_if(body, scan_is_token(one), VALUE);
    case VALUE:
        return go_on_if(body, scan_is_token(one), VALUE);
    case QUOTED:
        if (byte == '"' || byte == '\\')
            return go_on_if(body, true, byte == '"' ? QUOTED_END : ESCAPED);
        return go_on_if(body, scan_is_field_value(one), QUOTED);
    case ESCAPED:
        return go_on_if(body, scan_is_field_value(one), QUOTED);
    default: /* QUOTED_END */
        return 400;
    }
}

static int read_trailer(struct body *body, char byte)
{
    struct slice one = slice_of(&byte, 1);
    if (++body->trailers > LIMIT_TRAILERS)
        return 431;
    switch (body->state) {
    case TRAILER_START:
        if (byte == '\r')
            body->state = END_LF;
        else if (scan_is_token(one))
            body->state = TRAILER_NAME;
        else
            return 400;
        return 0;
    case TRAILER_NAME:
        if (byte == ':')
            body->state = TRAILER_VALUE;
        return byte == ':' || scan_is_token(one) ? 0 : 400;
    default:
        if (byte == '\r')
            body->state = TRAILER_LF;
        return byte == '\r' || scan_is_field_value(one) ? 0 : 400;
    }
}

/* Go to the state `next` if `byte` is `due`; else return 400. */
static int expect(struct body *body, char byte, char due, enum state next)
{
    body->state = (unsigned char)next;
    return byte == due ? 0 : 400;
}

static int end_size_line(struct body *body, char byte)
{
    bool last = body->left == 0;
    body->room -= (size_t)body->left;
    body->digits = 0;
    return expect(body, byte, '\n', last ? TRAILER_START : DATA);
}

static int read_byte(struct body *body, char byte)
{
    switch (body->state) {
    case SIZE:
        return read_size(body, byte);
    case NAME_START:
    case NAME:
    case VALUE_START:
    case VALUE:
    case QUOTED:
    case ESCAPED:
    case QUOTED_END:
        return read_extension(body, byte);
    case SIZE_LF:
        return end_size_line(body, byte);
    case DATA_CR:
        return expect(body, byte, '\r', DATA_LF);
    case DATA_LF:
        return expect(body, byte, '\n', SIZE);
    case TRAILER_LF:
        return expect(body, byte, '\n', TRAILER_START);
    default:
        return read_trailer(body, byte);
    }
}

int body_next(struct body *body, struct slice *input, struct slice *piece)
{
    for (;;) {
        if (body->state == LENGTH && body->left == 0)
            return BODY_DONE;
        if (body->state == DATA && body->left == 0)
            body->state = DATA_CR;
        if (input->size == 0)
            return BODY_NEED_MORE;
        if (body->state == LENGTH || body->state == DATA)
            return take_payload(body, input, piece);
        char byte = input->data[0];
        slice_skip(input, 1);
        if (body->state == END_LF)
            return byte == '\n' ? BODY_DONE : 400;
        int status = read_byte(body, byte);
        if (status != 0)
            return status;
    }
}

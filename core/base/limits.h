/* Every limit of the core, each with its unit and its reason.
 *
 * What an operator may need to change is a field of `struct limits`, whose values come from the
 * settings; the rest is fixed, since a larger value would only help an attacker.
 */
#ifndef CORE_BASE_LIMITS_H
#define CORE_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Bytes of request line and fields. Browsers send under 2 KiB, and the proxies
     * that stand in front allow 8 to 16 KiB. */
    LIMIT_HEAD = 16 * 1024,
    /* Bytes of a PROXY header, in which a TLS terminator says whom it speaks for. Usual ones
     * have under 200, and a few more with the name in a client's certificate. */
    LIMIT_PROXY_HEADER = 2048,
    /* Bytes of the media type of refusals. */
    LIMIT_REFUSAL_TYPE = 64,
    /* Bytes of the lines that only clients by TLS get: a field or two. */
    LIMIT_SECURE_FIELDS = 256,
    /* Bytes of a target: a batch of 100 page addresses of 80 bytes fits. */
    LIMIT_TARGET = 8 * 1024,
    /* Field lines. Chrome behind two proxies sends about 30. */
    LIMIT_FIELDS = 100,
    /* Bytes of all chunk extensions of one body. Nobody needs them; RFC 9112 section 7.1.1
     * asks for a bound. */
    LIMIT_CHUNK_EXTENSIONS = 256,
    /* Hex digits of a chunk size: more cannot be meant honestly. */
    LIMIT_CHUNK_DIGITS = 16,
    /* Bytes of trailer fields, which are read and dropped. */
    LIMIT_TRAILERS = 4 * 1024,
    /* Tags of one answer: a batch of 100 pages and a few more. */
    LIMIT_TAGS = 128,
    /* Bytes that the allocator adds to a block, for what is counted as memory. */
    LIMIT_BLOCK_OVERHEAD = 16,
    /* Bytes taken by one read, and the longest pipeline that one pass serves. */
    LIMIT_READ = 16 * 1024,
    /* Bytes of unsent answers above which a connection's pipeline is not served. */
    LIMIT_UNSENT = 32 * 1024,
    /* Bytes of a body that is no longer copied beside others but sent from where it is kept. Below,
     * the copy costs less than the second piece of a write. */
    LIMIT_COPIED = 32 * 1024,
    /* Bytes that a worker's shared output buffer may keep after one large answer. */
    LIMIT_OUTPUT_KEPT = 1024 * 1024,
    /* Bytes read and dropped after a refusal, so that the client can read it before a reset. */
    LIMIT_LINGER = 1024 * 1024,
    /* Milliseconds for that. */
    LIMIT_LINGER_MS = 2000,
    /* At a stop, milliseconds without a request after which a connection is closed. A busy client
     * sends its next request sooner and gets "Connection: close" with the answer. An idle browser
     * sees the close and connects anew. */
    LIMIT_QUIET_MS = 1000,
    /* Milliseconds in which a client takes none of the bytes that wait for it. */
    LIMIT_WRITE_MS = 30000,
    /* Bytes of one event of a stream: a few lines that say what has changed. */
    LIMIT_EVENT = 16 * 1024,
    /* Bytes that a stream's client may leave here untaken. Its socket holds more of them than
     * that. */
    LIMIT_STREAM_UNSENT = 32 * 1024,
    /* Events that workers may still have to deal out before further ones must wait in Python. */
    LIMIT_UNDELIVERED = 1024,
    /* Bytes that were held for clients and are free now, from which on they are given back to the
     * system; and milliseconds from one time to the next, since that looks at all free memory. */
    LIMIT_FREE_KEPT = 4 * 1024 * 1024,
    LIMIT_TRIM_MS = 1000,
    /* Streams that get an event, and deadlines that are acted on, in one pass: a third of a
     * millisecond for those who read stored answers. */
    LIMIT_PER_PASS = 64,
    /* Listening sockets of one server: one for each worker, or as many as were given to it. */
    LIMIT_LISTENERS = 64,
    /* Connections that wait to be accepted. The kernel cuts it to net.core.somaxconn. */
    LIMIT_BACKLOG = 4096,
    /* Connections accepted in one pass, so that those already there get their turn. */
    LIMIT_ACCEPTS = 64,
    /* Events taken by one wake-up. */
    LIMIT_EVENTS = 256,
    /* Workers of one server. */
    LIMIT_WORKERS = 64,
};

struct refusals; /* http/response.h */

/* What an operator may set. Times are milliseconds, sizes bytes. */
struct limits {
    size_t body;           /* payload of one request */
    size_t cache_bytes;    /* all stored answers of all workers together */
    size_t client_bytes;   /* what clients make all workers hold, see server/holders.h */
    uint32_t connections;  /* of all workers together */
    uint32_t waiting;      /* requests in the mailbox to Python */
    uint32_t streams;      /* of the connections, at the same time */
    uint32_t trace_lines;  /* that wait to be read, of each worker; 0: there is no trace */
    int64_t keep_alive;    /* between two requests */
    int64_t head_deadline; /* from the first byte of a head to its last; of a whole PROXY header */
    int64_t body_deadline; /* from the end of the head to the end of the body */
    int64_t handler_deadline; /* from there to the reply */
    int64_t heartbeat;        /* of a stream: from what was said last to the next sign of life */
    bool proxy_protocol;      /* every connection begins with a PROXY header, see proxy_header.h */
    const struct refusals *refusals; /* borrows: what refusals say; NULL: they have no body */
    char secure_fields[LIMIT_SECURE_FIELDS]; /* lines for clients that came by TLS */
};

#endif

/* Every limit of the core, with its unit and its reason.
 *
 * What an operator may need to change is a field of `struct limits`, whose values come from the
 * settings; the others are fixed, since larger values would only help an attacker. */
#ifndef CORE_BASE_LIMITS_H
#define CORE_BASE_LIMITS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Bytes of request line and fields. Browsers send under 2 KiB, and proxies in front of the
     * service allow 8 to 16 KiB. */
    LIMIT_HEAD = 16 * 1024,
    /* Bytes of a PROXY header, in which a TLS terminator names its client. Usual ones have under
     * 200, and a few more with the name in a client certificate. */
    LIMIT_PROXY_HEADER = 2048,
    /* Bytes of the media type of refusals. */
    LIMIT_REFUSAL_TYPE = 64,
    /* Bytes of the field lines for clients that use TLS: a field or two. */
    LIMIT_SECURE_FIELDS = 256,
    /* Bytes of a target: a batch of 100 page addresses of 80 bytes fits. */
    LIMIT_TARGET = 8 * 1024,
    /* Query parameters of a target that is compared with others: a form has as many fields. Each is
     * looked up among those that the path knows. */
    LIMIT_PARAMETERS = 256,
    /* Bytes of the body of a POST whose response may be cached, under its target and body. */
    LIMIT_KEY_BODY = 4 * 1024,
    /* Field lines. Chrome behind two proxies sends about 30. */
    LIMIT_FIELDS = 100,
    /* Bytes of all chunk extensions of one body. Clients do not need them; RFC 9112 section 7.1.1
     * asks for a limit. */
    LIMIT_CHUNK_EXTENSIONS = 256,
    /* Hex digits of a chunk size: enough for 64 bits. */
    LIMIT_CHUNK_DIGITS = 16,
    /* Bytes of trailer fields, which are read and dropped. */
    LIMIT_TRAILERS = 4 * 1024,
    /* Tags of one answer: a batch of 100 pages and a few more. */
    LIMIT_TAGS = 128,
    /* Bytes that the allocator adds to a block; they are counted too. */
    LIMIT_BLOCK_OVERHEAD = 16,
    /* Bytes of one read, which is also the longest pipeline served in one pass. */
    LIMIT_READ = 16 * 1024,
    /* Bytes of unsent responses above which a connection's pipeline is not served. */
    LIMIT_UNSENT = 32 * 1024,
    /* Bytes of a body that is sent from where it is stored. A smaller body is copied beside others,
     * which costs less than a second piece of a write. */
    LIMIT_COPIED = 32 * 1024,
    /* Bytes that a worker's shared output buffer may keep after a large response. */
    LIMIT_OUTPUT_KEPT = 1024 * 1024,
    /* Bytes that are read and dropped after a refusal, so that the client can read it before a
     * reset: two of the largest pictures. Caddy answers 502 if its upstream resets sooner. */
    LIMIT_LINGER = 16 * 1024 * 1024,
    /* Milliseconds for reading and dropping them. */
    LIMIT_LINGER_MS = 2000,
    /* At a stop, milliseconds without a request after which a connection is closed. A busy client
     * sends its next request sooner and gets "Connection: close" with the answer. An idle browser
     * sees the close and connects anew. */
    LIMIT_QUIET_MS = 1000,
    /* Milliseconds for which a client may take none of the bytes that wait for it. */
    LIMIT_WRITE_MS = 30000,
    /* Bytes of one piece of an answer whose length is not known. */
    LIMIT_PIECE = 128 * 1024,
    /* Bytes of one event of a stream: a few lines that say what has changed. */
    LIMIT_EVENT = 16 * 1024,
    /* Bytes that may wait for a stream's client in the process. Its socket buffers more of them. */
    LIMIT_STREAM_UNSENT = 32 * 1024,
    /* Events that workers may still have to deliver before further ones must wait in Python. */
    LIMIT_UNDELIVERED = 1024,
    /* Bytes that were held for clients and are free now: from this number on, they are returned to
     * the system. And the milliseconds between two such returns, since each examines all free
     * memory. */
    LIMIT_FREE_KEPT = 4 * 1024 * 1024,
    LIMIT_TRIM_MS = 1000,
    /* Streams that get an event, and deadlines that are handled, in one pass: a third of a
     * millisecond, while which cache hits wait. */
    LIMIT_PER_PASS = 64,
    /* Listening sockets of one server: one for each worker, or those that were passed to it. */
    LIMIT_LISTENERS = 64,
    /* Connections that wait to be accepted. The kernel reduces it to net.core.somaxconn. */
    LIMIT_BACKLOG = 4096,
    /* Connections accepted in one pass, so that existing ones get their turn. */
    LIMIT_ACCEPTS = 64,
    /* Events taken from the poller at once. */
    LIMIT_EVENTS = 256,
    /* Workers of one server. */
    LIMIT_WORKERS = 64,
};

struct refusals; /* http/response.h */

/* The limits that an operator may set. Times are in milliseconds, sizes in bytes. */
struct limits {
    size_t body;           /* payload of one request */
    size_t cache_bytes;    /* all cached responses of all workers together */
    size_t client_bytes;   /* memory held for clients by all workers, see server/holders.h */
    uint32_t connections;  /* of all workers together */
    uint32_t waiting;      /* requests in the mailbox to Python */
    uint32_t streams;      /* of the connections, at the same time */
    uint32_t trace_lines;  /* unread lines of each worker; 0 turns tracing off */
    int64_t keep_alive;    /* between two requests */
    int64_t head_deadline; /* from the first byte of a head to its last; of a whole PROXY header */
    int64_t body_deadline; /* from the end of the head to the end of the body */
    int64_t handler_deadline; /* from there to the reply */
    int64_t heartbeat;        /* of a stream: from the last bytes sent to the next sign of life */
    bool proxy_protocol;      /* every connection begins with a PROXY header, see proxy_header.h */
    struct slice targets;     /* borrows: rules for targets, see http/target.h */
    const struct refusals *refusals;         /* borrows: bodies of refusals; NULL: none */
    char secure_fields[LIMIT_SECURE_FIELDS]; /* lines for clients that came by TLS */
};

#endif

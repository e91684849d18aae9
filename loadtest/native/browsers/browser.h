#ifndef BROWSER_H
#define BROWSER_H

/* A client that behaves as a browser: it keeps its connection, opens a new one if the server closed
 * it, uses TLS if told to, and counts errors instead of ending the program.
 *
 * A browser has one request under way at a time. At each event its connection passes through as
 * many states as it can, from top to bottom; events are edge-triggered. If a kept connection ends
 * before the first byte of an answer, the server closed it while it was idle, so the request is
 * sent once more on a new connection (RFC 9112 section 9.3.1). Any other end is a failure. */
#include <openssl/ssl.h>
#include <stdint.h>

#include "../generator/plan.h"

enum browser_state { BROWSER_AWAY, BROWSER_CONNECTING, BROWSER_SHAKING, BROWSER_OPEN };

/* The server to which all browsers connect. */
struct target {
    int port, poller;
    SSL_CTX *tls; /* NULL for plain HTTP */
};

struct browser {
    enum browser_state state;
    int fd;
    SSL *ssl;     /* owns; NULL without TLS */
    bool waiting; /* an answer to `asked` is outstanding */
    bool kept;    /* the connection has delivered an answer before */
    struct batch asked;
    size_t sent;
    uint64_t begin; /* when the request was due, in ns */
    size_t have;
    char *input; /* owns ANSWER_BYTES */
};

enum browser_news { BROWSER_WAITS, BROWSER_ANSWERED, BROWSER_FAILED };

/* Return a TLS context that trusts only the certificates in the file. */
SSL_CTX *browser_trust(const char *path);

/* Send a request; its latency counts from the moment `due`. */
void browser_ask(struct browser *browser, struct batch batch, uint64_t due);

/* Proceed as far as possible. When an answer is complete, `verdict` says whether it is right. After
 * a failure the connection is closed, and the next request opens another. */
enum browser_news browser_go(struct browser *browser, const struct target *target,
                             struct plan *plan, struct verdict *verdict);

/* Close the connection. */
void browser_close(struct browser *browser);

#endif

#ifndef BROWSER_H
#define BROWSER_H

/* One client as a browser is: it keeps its connection, opens a new one where the server closed it,
 * speaks TLS where it is told to, and counts what goes wrong instead of ending.
 *
 * A browser asks one thing at a time. Its connection goes through the states from top to
 * bottom, as far as it can at each event; events are edge-triggered. A kept connection that ends
 * before the first byte of an answer was closed while it was idle, so the request is sent once more
 * on a new one (RFC 9112 section 9.3.1); any other end is a failure. */
#include <openssl/ssl.h>
#include <stdint.h>

#include "../generator/plan.h"

enum browser_state { BROWSER_AWAY, BROWSER_CONNECTING, BROWSER_SHAKING, BROWSER_OPEN };

/* Where all of them connect to. */
struct place {
    int port, poller;
    SSL_CTX *tls; /* NULL for plain HTTP */
};

struct browser {
    enum browser_state state;
    int fd;
    SSL *ssl;     /* owns; NULL without TLS */
    bool waiting; /* for the answer to `asked` */
    bool kept;    /* the connection gave an answer before */
    struct batch asked;
    size_t sent;
    uint64_t begin; /* when the request was due, in ns */
    size_t have;
    char *input; /* owns ANSWER_BYTES */
};

enum browser_news { BROWSER_WAITS, BROWSER_ANSWERED, BROWSER_FAILED };

/* The context for TLS that trusts the certificates in the file, and nobody else. */
SSL_CTX *browser_trust(const char *path);

/* Begin to ask; `due` is the moment from which the answer is waited for. */
void browser_ask(struct browser *browser, struct batch batch, uint64_t due);

/* Go on as far as possible. When an answer is whole, `verdict` is what it is worth; after a failure
 * the connection is closed, and the next request opens another. */
enum browser_news browser_go(struct browser *browser, const struct place *place, struct plan *plan,
                             struct verdict *verdict);

/* Hang up. */
void browser_close(struct browser *browser);

#endif

/* The PROXY protocol header (version 2; proxy-protocol.txt of HAProxy, section 2.2), and the peer
 * of a connection.
 *
 * The socket has one address. A TLS terminator that forwards bytes may speak for another client:
 * before the first byte of that client it sends a header with the client's address, and whether it
 * uses TLS. A listener expects the header on every connection or on none; the bytes never decide.
 * It is read once per connection, so a hit costs nothing more. */
#ifndef CORE_HTTP_PROXY_HEADER_H
#define CORE_HTTP_PROXY_HEADER_H

#include "base/slice.h"

#include <stdbool.h>

enum {
    /* Bytes of the longest address as text, with its NUL (as INET6_ADDRSTRLEN). */
    PEER_SIZE = 46,
    /* Bytes of a note about a peer, with its NUL. */
    PEER_NOTE = PEER_SIZE + 8,
};

struct peer {
    char address[PEER_SIZE]; /* of the socket; empty for a Unix socket */
    char client[PEER_SIZE];  /* of the client that it speaks for; empty for itself */
    bool header_pending;     /* its PROXY header has not arrived yet */
    bool proxied;            /* its PROXY header has come */
    bool secure;             /* it said that the client uses TLS */
};

/* An idle connection between two servers: its descriptor, and a note about its peer. */
struct handed_over {
    int fd; /* -1: there is none */
    char note[PEER_NOTE];
};

enum proxy_header_result { PROXY_HEADER_DONE, PROXY_HEADER_NEED_MORE, PROXY_HEADER_ERROR };

/* Read the PROXY header at the start of `in`, and cut it off. PROXY_HEADER_ERROR: there is none, or
 * it contradicts itself; the connection must be closed without an answer. Nothing is changed except
 * after PROXY_HEADER_DONE. */
enum proxy_header_result proxy_header_read(struct peer *peer, struct slice *in);

/* Write a network address as text, an IPv4-mapped one (RFC 4291) as IPv4. `family` is AF_INET or
 * AF_INET6; the text for any other is empty. */
void peer_write_address(char text[PEER_SIZE], int family, const void *address);

/* Write what a PROXY header has said, or that it is expected, for the next server of the
 * connection; and read it. False for an invalid note. */
void peer_write_note(const struct peer *peer, char note[PEER_NOTE]);
bool peer_read_note(struct peer *peer, const char *note);

#endif

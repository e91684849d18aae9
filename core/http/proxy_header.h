/* Who is at the other end of a connection.
 *
 * The socket says one thing. A terminator of TLS that passes on bytes says another: whom it speaks
 * for, and whether that client came by TLS. It does so in a PROXY header, once, before the first
 * byte of the client: version 2 of the PROXY protocol (proxy-protocol.txt of HAProxy, section 2.2).
 * A listener awaits it from everybody or from nobody; bytes never decide. It costs a stored answer
 * nothing: a PROXY header is read once for each connection. */
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
    char address[PEER_SIZE]; /* of the socket; empty over a unix socket */
    char client[PEER_SIZE];  /* of whom it speaks for; empty where it speaks for itself */
    bool header_pending;     /* its PROXY header is still to come */
    bool proxied;            /* its PROXY header has come */
    bool secure;             /* which said that the client came by TLS */
};

/* An idle connection between two servers: its descriptor, and a note about its peer. */
struct handed_over {
    int fd; /* -1: there is none */
    char note[PEER_NOTE];
};

enum proxy_header_result { PROXY_HEADER_DONE, PROXY_HEADER_NEED_MORE, PROXY_HEADER_ERROR };

/* Read the PROXY header at the start of `in`, and cut it off. PROXY_HEADER_ERROR: this is none, or
 * one that contradicts itself; such a connection is to be closed without a word. Nothing has
 * changed unless it is PROXY_HEADER_DONE. */
enum proxy_header_result proxy_header_read(struct peer *peer, struct slice *in);

/* Write a network address as text; one of IPv4 in IPv6's clothes as what it is. `family` is AF_INET
 * or AF_INET6; with any other, the text is empty. */
void peer_write_address(char text[PEER_SIZE], int family, const void *address);

/* Write what a PROXY header has said, or that it is awaited, for the server that has the connection
 * next; and read it. False when nobody of ours wrote that. */
void peer_write_note(const struct peer *peer, char note[PEER_NOTE]);
bool peer_read_note(struct peer *peer, const char *note);

#endif

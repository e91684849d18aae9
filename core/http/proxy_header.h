/* The PROXY protocol header (version 2; proxy-protocol.txt of HAProxy, section 2.2), and who is at
 * the other end of a connection.
 *
 * The socket has one address. A TLS terminator that passes on bytes may speak for another client:
 * before the first byte of that client it sends a header with the client's address, and whether it
 * came by TLS. A listener expects the header on every connection or on none; bytes never decide. It
 * is read once for each connection, so a hit pays nothing. */
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

/* Write a network address as text, an IPv4-mapped one (RFC 4291) as that of IPv4. `family` is
 * AF_INET or AF_INET6; with any other, the text is empty. */
void peer_write_address(char text[PEER_SIZE], int family, const void *address);

/* Write what a PROXY header has said, or that it is awaited, for the server that has the connection
 * next; and read it. False when that is no note of ours. */
void peer_write_note(const struct peer *peer, char note[PEER_NOTE]);
bool peer_read_note(struct peer *peer, const char *note);

#endif

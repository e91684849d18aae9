/* Listening sockets: addresses as the operator writes them, and descriptors made from them, which
 * the caller owns. */
#ifndef CORE_IO_LISTENER_H
#define CORE_IO_LISTENER_H

#include "http/proxy_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Bytes of "[IPv6 address]:PORT" or "unix:PATH", with the NUL. */
enum { ENDPOINT_TEXT = 128 };

struct endpoint {
    struct sockaddr_storage address;
    socklen_t size;
    char text[ENDPOINT_TEXT];
};

/* Read "HOST:PORT", "[IPv6]:PORT", ":PORT" or "unix:PATH". False when it is none of them, or the
 * host is unknown. */
bool endpoint_read(struct endpoint *endpoint, const char *text);

static inline bool endpoint_is_unix(const struct endpoint *endpoint)
{
    return endpoint->address.ss_family == AF_UNIX;
}

/* Refuse early when another program listens there (SO_REUSEPORT would share the port with it), and
 * remove a unix socket that nobody listens on any more. 0, or -1 with errno. */
int endpoint_claim(const struct endpoint *endpoint);

/* A listening, non-blocking socket, or -1 with errno. `shared` lets others of this server bind the
 * same port. Writes the port that the kernel chose back into `endpoint`. */
int listener_open(struct endpoint *endpoint, bool shared);

/* Prepare a listening socket that somebody else opened, and read where it listens. 0, or -1 with
 * errno: it is no listening stream socket of a family that we know. */
int listener_inherit(struct endpoint *endpoint, int listener);

/* True when it was opened `shared`: it gets a part of the clients, its siblings get the others. */
bool listener_is_shared(int listener);

/* Accept one client: its descriptor, or -1 with errno. Its address is written into `peer`, empty
 * over a unix socket. */
int listener_accept(int listener, struct peer *peer);

/* Prepare a client's socket that another process accepted, and write its address in the same way.
 * 0, or -1 with errno. */
int listener_adopt(int fd, struct peer *peer);

#endif

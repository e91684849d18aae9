/* Listening sockets: addresses as operators write them, and descriptors made from them, which the
 * caller owns. */
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

/* Fail early if another program listens there (SO_REUSEPORT would share the port with it), and
 * remove a Unix socket on which nobody listens any more. 0, or -1 with errno. */
int endpoint_claim(const struct endpoint *endpoint);

/* A listening, non-blocking socket, or -1 with errno. `shared` lets other sockets of this server
 * bind the same port. The port that the kernel chose is written into `endpoint`. */
int listener_open(struct endpoint *endpoint, bool shared);

/* Prepare a listening socket that another process opened, and read its address. 0, or -1 with
 * errno: it is not a listening stream socket of a known family. */
int listener_inherit(struct endpoint *endpoint, int listener);

/* True if it was opened as `shared`: it gets a part of the clients, its siblings get the others. */
bool listener_is_shared(int listener);

/* Accept one client: its descriptor, or -1 with errno. Its address is written into `peer`, empty
 * for a Unix socket. */
int listener_accept(int listener, struct peer *peer);

/* Prepare a client's socket that another process accepted, and write its address in the same way.
 * 0, or -1 with errno. */
int listener_adopt(int fd, struct peer *peer);

#endif

/* Listening sockets. */
#include "io/listener.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool read_unix(struct endpoint *endpoint, const char *path)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&endpoint->address;
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof address->sun_path)
        return false;
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, size + 1);
    endpoint->size = sizeof *address;
    snprintf(endpoint->text, sizeof endpoint->text, "unix:%s", path);
    return true;
}

/* Write the text of a TCP endpoint from its address. */
static void write_text(struct endpoint *endpoint)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (endpoint->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&endpoint->address;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(endpoint->text, sizeof endpoint->text, "[%s]:%d", host, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&endpoint->address;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(endpoint->text, sizeof endpoint->text, "%s:%d", host, ntohs(v4->sin_port));
    }
}

static bool is_port(const char *text)
{
    unsigned port = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    for (; *text; text++)
        port = port * 10 + (unsigned)(*text - '0');
    return port <= 65535;
}

bool endpoint_read(struct endpoint *endpoint, const char *text)
{
    *endpoint = (struct endpoint){0};
    if (strncmp(text, "unix:", 5) == 0)
        return read_unix(endpoint, text + 5);
    const char *colon = strrchr(text, ':');
    char host[256];
    if (!colon || !is_port(colon + 1) || (size_t)(colon - text) >= sizeof host)
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    char *name = host;
    size_t size = strlen(host);
    if (size > 2 && host[0] == '[' && host[size - 1] == ']') {
        host[size - 1] = '\0';
        name++;
    } else if (strchr(host, ':')) {
        return false;
    }
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (size == 0)
        hints.ai_family = AF_INET;
    if (getaddrinfo(size ? name : NULL, colon + 1, &hints, &found) != 0)
        return false;
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    endpoint->size = found->ai_addrlen;
    freeaddrinfo(found);
    write_text(endpoint);
    return true;
}

static int claim_unix(const struct endpoint *endpoint)
{
    const struct sockaddr_un *address = (const struct sockaddr_un *)&endpoint->address;
    struct stat status;
    if (lstat(address->sun_path, &status) < 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return -1;
    int refused = connect(probe, (const struct sockaddr *)address, endpoint->size) < 0 &&
                  errno == ECONNREFUSED;
    close(probe);
    if (refused)
        return unlink(address->sun_path);
    errno = EADDRINUSE;
    return -1;
}

static int set_option(int fd, int level, int option)
{
    int on = 1;
    return setsockopt(fd, level, option, &on, sizeof on);
}

/* Close `fd` after a failure, keep errno, and return -1. */
static int fail(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int endpoint_claim(const struct endpoint *endpoint)
{
    if (endpoint_is_unix(endpoint))
        return claim_unix(endpoint);
    int probe = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return -1;
    if (set_option(probe, SOL_SOCKET, SO_REUSEADDR) < 0 ||
        bind(probe, (const struct sockaddr *)&endpoint->address, endpoint->size) < 0)
        return fail(probe);
    return close(probe);
}

/* Set options that accepted sockets inherit, which saves system calls for each. Without a limit,
 * the kernel would buffer 4 MB for a client that reads nothing: a few hundred of these took all its
 * memory for TCP, and it dropped everybody's packets. */
static int prepare_clients(int fd)
{
    unsigned unsent = LIMIT_UNSENT;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) < 0)
        return -1;
    return set_option(fd, IPPROTO_TCP, TCP_NODELAY);
}

static int prepare_tcp(int fd, bool shared)
{
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR) < 0 || prepare_clients(fd) < 0)
        return -1;
    return shared ? set_option(fd, SOL_SOCKET, SO_REUSEPORT) : 0;
}

/* Where `fd` is bound, as the kernel knows it. */
static int read_name(struct endpoint *endpoint, int fd)
{
    endpoint->size = sizeof endpoint->address;
    if (getsockname(fd, (struct sockaddr *)&endpoint->address, &endpoint->size) < 0)
        return -1;
    if (!endpoint_is_unix(endpoint)) {
        write_text(endpoint);
        return 0;
    }
    const struct sockaddr_un *name = (const struct sockaddr_un *)&endpoint->address;
    size_t size = endpoint->size - offsetof(struct sockaddr_un, sun_path);
    /* An abstract name begins with a NUL; tools write it with an at sign. */
    snprintf(endpoint->text, sizeof endpoint->text, "unix:%s%.*s", name->sun_path[0] ? "" : "@",
             (int)size - (name->sun_path[0] == '\0'), name->sun_path + (name->sun_path[0] == '\0'));
    return 0;
}

static int set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return -1;
    return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int listener_inherit(struct endpoint *endpoint, int listener)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof type, other = sizeof listens;
    if (getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &other) < 0)
        return -1;
    *endpoint = (struct endpoint){0};
    if (type != SOCK_STREAM || !listens) {
        errno = EINVAL;
        return -1;
    }
    if (read_name(endpoint, listener) < 0)
        return -1;
    sa_family_t family = endpoint->address.ss_family;
    if (family != AF_UNIX && family != AF_INET && family != AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    if (family != AF_UNIX && prepare_clients(listener) < 0)
        return -1;
    return set_flags(listener);
}

bool listener_is_shared(int listener)
{
    int shared = 0;
    socklen_t size = sizeof shared;
    return getsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &shared, &size) == 0 && shared;
}

int listener_open(struct endpoint *endpoint, bool shared)
{
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int fd = socket(endpoint->address.ss_family, type, 0);
    if (fd < 0)
        return -1;
    bool tcp = !endpoint_is_unix(endpoint);
    if ((tcp && prepare_tcp(fd, shared) < 0) ||
        bind(fd, (const struct sockaddr *)&endpoint->address, endpoint->size) < 0 ||
        listen(fd, LIMIT_BACKLOG) < 0)
        return fail(fd);
    return tcp && read_name(endpoint, fd) < 0 ? fail(fd) : fd;
}

static void write_peer(const struct sockaddr_storage *address, struct peer *peer)
{
    const void *v4 = &((const struct sockaddr_in *)address)->sin_addr;
    const void *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    peer_write_address(peer->address, address->ss_family, address->ss_family == AF_INET ? v4 : v6);
}

int listener_accept(int listener, struct peer *peer)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    address.ss_family = AF_UNSPEC;
    int fd = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        write_peer(&address, peer);
    return fd;
}

int listener_adopt(int fd, struct peer *peer)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    address.ss_family = AF_UNSPEC;
    if (getpeername(fd, (struct sockaddr *)&address, &length) < 0)
        return -1;
    write_peer(&address, peer);
    return set_flags(fd);
}

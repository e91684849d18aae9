/* The PROXY header, parsed as strictly as a head: it decides who a client is. */
#include "http/proxy_header.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The PROXY header begins with the signature, then version and command, family and transport, and
 * the number of bytes that follow: addresses, then records of type, length and value. */
static const char SIGNATURE[] = "\r\n\r\n\0\r\nQUIT\n";
enum { SIGNATURE_SIZE = sizeof SIGNATURE - 1, FIXED = SIGNATURE_SIZE + 4 };

enum { LOCAL = 0x20, PROXY = 0x21 }; /* with the version, 2 */
enum { UNSPECIFIED = 0x00, TCP4 = 0x11, TCP6 = 0x21, STREAM = 0x31 };
enum { RECORD = 3, RECORD_TLS = 0x20, TLS_FIXED = 5, TLS_CLIENT = 0x01 };

static size_t read_16(const char *at)
{
    return (size_t)(uint8_t)at[0] << 8 | (uint8_t)at[1];
}

/* Bytes of the addresses and ports of this family and transport; -1 for an unknown one. */
static ptrdiff_t addresses_size(char family)
{
    switch (family) {
    case UNSPECIFIED:
        return 0;
    case TCP4:
        return 12;
    case TCP6:
        return 36;
    case STREAM:
        return 216;
    default:
        return -1;
    }
}

/* Read the records; false if they do not end at the end of `in`, or if two are for TLS. */
static bool read_records(struct slice in, bool *secure)
{
    bool has_tls = false;
    *secure = false;
    while (in.size > 0) {
        if (in.size < RECORD)
            return false;
        size_t size = read_16(in.data + 1);
        if (size > in.size - RECORD)
            return false;
        if (in.data[0] == RECORD_TLS) {
            if (has_tls || size < TLS_FIXED)
                return false;
            has_tls = true;
            *secure = in.data[RECORD] & TLS_CLIENT;
        }
        slice_skip(&in, RECORD + size);
    }
    return true;
}

/* Read what follows the fixed part of a PROXY header for another client. */
static bool read_client(struct peer *peer, char family, struct slice in)
{
    ptrdiff_t size = addresses_size(family);
    const char *source = in.data;
    if (size < 0 || (size_t)size > in.size)
        return false;
    slice_skip(&in, (size_t)size);
    bool secure;
    if (!read_records(in, &secure))
        return false;
    peer->secure = secure;
    /* Other families have no address that means anything here. */
    if (family == TCP4 || family == TCP6)
        peer_write_address(peer->client, family == TCP4 ? AF_INET : AF_INET6, source);
    return true;
}

enum proxy_header_result proxy_header_read(struct peer *peer, struct slice *in)
{
    size_t known = in->size < SIGNATURE_SIZE ? in->size : SIGNATURE_SIZE;
    if (!slice_equal(slice_of(in->data, known), slice_of(SIGNATURE, known)))
        return PROXY_HEADER_ERROR;
    if (in->size < FIXED)
        return PROXY_HEADER_NEED_MORE;
    char command = in->data[SIGNATURE_SIZE], family = in->data[SIGNATURE_SIZE + 1];
    size_t size = read_16(in->data + SIGNATURE_SIZE + 2);
    if ((command != LOCAL && command != PROXY) || size > LIMIT_PROXY_HEADER - FIXED)
        return PROXY_HEADER_ERROR;
    if (in->size - FIXED < size)
        return PROXY_HEADER_NEED_MORE;
    /* LOCAL is the proxy's own connection, such as a health check: ignore what follows. */
    if (command == PROXY && !read_client(peer, family, slice_of(in->data + FIXED, size)))
        return PROXY_HEADER_ERROR;
    slice_skip(in, FIXED + size);
    peer->header_pending = false;
    peer->proxied = true;
    return PROXY_HEADER_DONE;
}

void peer_write_address(char text[PEER_SIZE], int family, const void *address)
{
    static const uint8_t MAPPED[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291 section 2.5.5.2 */
    text[0] = '\0';
    if (family == AF_INET6 && memcmp(address, MAPPED, sizeof MAPPED) == 0) {
        family = AF_INET;
        address = (const char *)address + sizeof MAPPED;
    }
    if (family == AF_INET || family == AF_INET6)
        inet_ntop(family, address, text, PEER_SIZE);
}

void peer_write_note(const struct peer *peer, char note[PEER_NOTE])
{
    const char *kind = peer->header_pending ? "awaited"
                       : !peer->proxied     ? ""
                       : peer->secure       ? "tls "
                                            : "plain ";
    snprintf(note, PEER_NOTE, "%s%s", kind, peer->client);
}

bool peer_read_note(struct peer *peer, const char *note)
{
    peer->header_pending = strcmp(note, "awaited") == 0;
    peer->secure = strncmp(note, "tls ", 4) == 0;
    peer->proxied = peer->secure || strncmp(note, "plain ", 6) == 0;
    if (!peer->proxied)
        return peer->header_pending || *note == '\0';
    const char *client = strchr(note, ' ') + 1;
    size_t size = strlen(client);
    if (size < PEER_SIZE)
        memcpy(peer->client, client, size + 1);
    return size < PEER_SIZE;
}

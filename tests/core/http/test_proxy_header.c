/* The PROXY header, by which a TLS terminator names the client: whole, in pieces, with a
 * follower, and wrong. */
#include "check.h"

#include "http/proxy_header.h"

#include "base/limits.h"

#include <sys/socket.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4 "\xc0\0\2\x07\xc6\x33\x64\1\xd4\x31\1\xbb" /* 192.0.2.7 to 198.51.100.1 */
#define V6_TO "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\xd4\x31\1\xbb"
#define V6 "\x20\1\x0d\xb8\0\7\0\0\0\0\0\0\0\0\0\x09" V6_TO
#define MAPPED "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x07" V6_TO
#define TLS "\x20\0\5\1\0\0\0\0"
#define TLS_WITH_VERSION "\x20\0\x0f\1\0\0\0\0\x21\0\7TLSv1.3"
#define NOT_TLS "\x20\0\5\6\0\0\0\1"
#define NOTHING "\4\0\3abc"

/* Read `in` as the first bytes of a new connection. */
static enum proxy_header_result read_from(struct peer *peer, struct slice *in)
{
    *peer = (struct peer){.header_pending = true};
    return proxy_header_read(peer, in);
}

/* It is read in the same way whole, byte by byte, and in front of a request. */
static void speaks_for(struct slice header, const char *client, bool secure)
{
    struct peer peer = {.header_pending = true};
    char text[LIMIT_PROXY_HEADER + 16];
    for (size_t size = 1; size < header.size; size++) {
        struct slice in = at_forbidden_page(slice_of(header.data, size));
        CHECK_EQUAL(proxy_header_read(&peer, &in), PROXY_HEADER_NEED_MORE);
        CHECK(peer.header_pending && in.size == size && !peer.secure && !*peer.client);
    }
    memcpy(text, header.data, header.size);
    memcpy(text + header.size, "GET / HTTP", 10);
    for (size_t more = 0; more <= 10; more += 10) {
        struct slice in = slice_of(text, header.size + more);
        CHECK_EQUAL(read_from(&peer, &in), PROXY_HEADER_DONE);
        CHECK_EQUAL(in.size, more);
        CHECK(!peer.header_pending && peer.proxied);
        CHECK_EQUAL(peer.secure, secure);
        CHECK(strcmp(peer.client, client) == 0);
    }
}

#define SPEAKS_FOR(bytes, client, secure) speaks_for(SLICE(SIGNATURE bytes), client, secure)

static bool is_refused(struct slice header)
{
    struct peer peer;
    struct slice in = at_forbidden_page(header);
    bool strange = read_from(&peer, &in) == PROXY_HEADER_ERROR;
    /* Nothing is known after it. */
    return strange && peer.header_pending && !peer.proxied && in.size == header.size;
}

#define IS_STRANGE(bytes) is_refused(SLICE(SIGNATURE bytes))

static void a_client_is_named_by_its_address(void)
{
    SPEAKS_FOR("\x21\x11\0\x0c" V4, "192.0.2.7", false);
    SPEAKS_FOR("\x21\x21\0\x24" V6, "2001:db8:7::9", false);
    SPEAKS_FOR("\x21\x21\0\x24" MAPPED, "192.0.2.7", false);
}

static void tls_is_told_by_a_record(void)
{
    SPEAKS_FOR("\x21\x11\0\x14" V4 TLS, "192.0.2.7", true);
    SPEAKS_FOR("\x21\x11\0\x1e" V4 TLS_WITH_VERSION, "192.0.2.7", true);
    SPEAKS_FOR("\x21\x11\0\x1a" V4 NOTHING TLS, "192.0.2.7", true);
    SPEAKS_FOR("\x21\x11\0\x1a" V4 TLS NOTHING, "192.0.2.7", true);
    SPEAKS_FOR("\x21\x11\0\x14" V4 NOT_TLS, "192.0.2.7", false);
    SPEAKS_FOR("\x21\x11\0\x12" V4 NOTHING, "192.0.2.7", false);
}

static void a_proxy_may_speak_for_itself(void)
{
    SPEAKS_FOR("\x20\0\0\0", "", false);
    /* The bytes after LOCAL have no meaning, be they an address, TLS or nonsense. */
    SPEAKS_FOR("\x20\x11\0\x14" V4 TLS, "", false);
    SPEAKS_FOR("\x20\xff\0\3xyz", "", false);
}

static void a_client_without_a_network_address_has_none(void)
{
    char text[16 + 216 + 8] = SIGNATURE "\x21\x31\0\xe0/run/socket";
    memcpy(text + 16 + 216, TLS, 8);
    speaks_for(slice_of(text, sizeof text), "", true);
    SPEAKS_FOR("\x21\0\0\0", "", false);
    SPEAKS_FOR("\x21\0\0\x08" TLS, "", true);
}

static void what_is_no_proxy_header_is_strange_at_its_first_wrong_byte(void)
{
    CHECK(is_refused(SLICE("G")));
    CHECK(is_refused(SLICE("\r\n\r\nG")));
    CHECK(is_refused(SLICE("\r\n\r\n\0\r\nQUIT\r\x21\x11\0\x0c" V4)));
    CHECK(is_refused(SLICE("PROXY TCP4 192.0.2.7 198.51.100.1 54321 443\r\n"))); /* version 1 */
}

static void another_version_command_family_or_transport_is_strange(void)
{
    CHECK(IS_STRANGE("\x11\x11\0\x0c" V4));
    CHECK(IS_STRANGE("\x31\x11\0\x0c" V4));
    CHECK(IS_STRANGE("\x22\x11\0\x0c" V4));
    CHECK(IS_STRANGE("\x2f\x11\0\x0c" V4));
    CHECK(IS_STRANGE("\x21\x12\0\x0c" V4)); /* UDP */
    CHECK(IS_STRANGE("\x21\x10\0\x0c" V4));
    CHECK(IS_STRANGE("\x21\x41\0\x0c" V4));
    CHECK(IS_STRANGE("\x21\xff\0\x0c" V4));
}

static void lengths_that_contradict_each_other_are_strange(void)
{
    CHECK(IS_STRANGE("\x21\x11\0\x0b" V4));                      /* too short for the addresses */
    CHECK(IS_STRANGE("\x21\x21\0\x0c" V4));                      /* the same of IPv6 */
    CHECK(IS_STRANGE("\x21\x11\0\x0d" V4 "\x20"));               /* a piece of a record */
    CHECK(IS_STRANGE("\x21\x11\0\x0e" V4 "\x20\0"));             /* another one */
    CHECK(IS_STRANGE("\x21\x11\0\x14" V4 "\x20\0\6\1\0\0\0\0")); /* beyond the end */
    CHECK(IS_STRANGE("\x21\x11\0\x13" V4 "\x20\0\4\1\0\0\0"));   /* too short to speak of TLS */
    CHECK(IS_STRANGE("\x21\x11\0\x1c" V4 TLS NOT_TLS));          /* and no TLS */
}

static void the_length_is_bounded_before_it_has_come(void)
{
    CHECK(IS_STRANGE("\x21\x11\xff\xff"));
    CHECK(IS_STRANGE("\x20\0\x07\xf1"));
    static char text[LIMIT_PROXY_HEADER] = SIGNATURE "\x20\0\x07\xf0";
    struct peer peer;
    struct slice in = slice_of(text, sizeof text);
    CHECK_EQUAL(read_from(&peer, &in), PROXY_HEADER_DONE);
    CHECK_EQUAL(in.size, 0);
}

static void a_note_says_what_was_known(void)
{
    static const struct peer peers[] = {
        {.address = ""},
        {.header_pending = true},
        {.proxied = true},
        {.proxied = true, .secure = true, .client = "192.0.2.7"},
        {.proxied = true, .client = "2001:db8:1234:5678:9abc:def0:255.255.255.255"},
    };
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        char note[PEER_NOTE];
        struct peer peer = {0};
        peer_write_note(&peers[i], note);
        CHECK(peer_read_note(&peer, note));
        CHECK(memcmp(&peer, &peers[i], sizeof peer) == 0);
    }
}

static void a_strange_note_is_refused(void)
{
    struct peer peer = {0};
    CHECK(!peer_read_note(&peer, "x"));
    CHECK(!peer_read_note(&peer, "awaited 192.0.2.7"));
    CHECK(!peer_read_note(&peer, "tls 0123456789012345678901234567890123456789012345"));
}

static void an_address_of_no_network_is_empty(void)
{
    char text[PEER_SIZE] = "x";
    peer_write_address(text, AF_UNIX, "");
    CHECK(strcmp(text, "") == 0);
}

int main(void)
{
    RUN(a_client_is_named_by_its_address);
    RUN(tls_is_told_by_a_record);
    RUN(a_proxy_may_speak_for_itself);
    RUN(a_client_without_a_network_address_has_none);
    RUN(what_is_no_proxy_header_is_strange_at_its_first_wrong_byte);
    RUN(another_version_command_family_or_transport_is_strange);
    RUN(lengths_that_contradict_each_other_are_strange);
    RUN(the_length_is_bounded_before_it_has_come);
    RUN(a_note_says_what_was_known);
    RUN(a_strange_note_is_refused);
    RUN(an_address_of_no_network_is_empty);
    return check_end();
}

#include "browser.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../generator/die.h"

/* The result of reading or writing. */
enum step { STEP_DONE, STEP_WAIT, STEP_END };

SSL_CTX *browser_trust(const char *path)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    errno = 0;
    if (!tls || SSL_CTX_load_verify_locations(tls, path, NULL) != 1)
        die("the certificates cannot be read");
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE);
    return tls;
}

void browser_ask(struct browser *browser, struct batch batch, uint64_t due)
{
    browser->asked = batch;
    browser->sent = browser->have = 0;
    browser->begin = due;
    browser->waiting = true;
}

void browser_close(struct browser *browser)
{
    SSL_free(browser->ssl);
    browser->ssl = NULL;
    if (browser->state != BROWSER_AWAY)
        close(browser->fd);
    browser->state = BROWSER_AWAY;
    browser->kept = false;
}

/* Connect without waiting; a refused connection is reported by an event too. */
static void begin(struct browser *browser, const struct target *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)target->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = browser};
    int on = 1;
    browser->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (browser->fd < 0 || setsockopt(browser->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
        (connect(browser->fd, (struct sockaddr *)&address, sizeof(address)) &&
         errno != EINPROGRESS && errno != ECONNREFUSED) ||
        epoll_ctl(target->poller, EPOLL_CTL_ADD, browser->fd, &event))
        die("cannot connect");
    browser->state = BROWSER_CONNECTING;
    browser->sent = browser->have = 0;
    if (!target->tls)
        return;
    browser->ssl = SSL_new(target->tls);
    if (!browser->ssl || SSL_set_fd(browser->ssl, browser->fd) != 1 ||
        SSL_set1_host(browser->ssl, "localhost") != 1 ||
        SSL_set_tlsext_host_name(browser->ssl, "localhost") != 1)
        die("TLS cannot begin");
}

static enum step connected(const struct browser *browser)
{
    struct sockaddr_in peer;
    socklen_t size = sizeof(peer);
    int error = 0;
    socklen_t width = sizeof(error);
    if (getsockopt(browser->fd, SOL_SOCKET, SO_ERROR, &error, &width) || error)
        return STEP_END;
    return getpeername(browser->fd, (struct sockaddr *)&peer, &size) ? STEP_WAIT : STEP_DONE;
}

/* Return why a TLS call has moved no bytes. */
static enum step tls_step(const struct browser *browser, int result)
{
    int error = SSL_get_error(browser->ssl, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? STEP_WAIT : STEP_END;
}

static enum step plain_step(ssize_t moved)
{
    return moved < 0 && errno == EAGAIN ? STEP_WAIT : STEP_END;
}

static enum step shake(struct browser *browser)
{
    if (!browser->ssl)
        return STEP_DONE;
    int result = SSL_connect(browser->ssl);
    return result == 1 ? STEP_DONE : tls_step(browser, result);
}

static enum step write_rest(struct browser *browser)
{
    while (browser->sent < browser->asked.size) {
        const char *bytes = browser->asked.bytes + browser->sent;
        size_t size = browser->asked.size - browser->sent;
        ssize_t moved = browser->ssl ? SSL_write(browser->ssl, bytes, (int)size)
                                     : send(browser->fd, bytes, size, MSG_NOSIGNAL);
        if (moved <= 0)
            return browser->ssl ? tls_step(browser, (int)moved) : plain_step(moved);
        browser->sent += (size_t)moved;
    }
    return STEP_DONE;
}

/* Read what has arrived; return STEP_DONE when the answer is complete. */
static enum step read_answer(struct browser *browser, struct plan *plan, struct verdict *verdict)
{
    struct expected *expected = plan_expected(plan, browser->asked.first);
    for (;;) {
        char *end = browser->input + browser->have;
        size_t room = ANSWER_BYTES - browser->have;
        ssize_t moved =
            browser->ssl ? SSL_read(browser->ssl, end, (int)room) : recv(browser->fd, end, room, 0);
        if (moved <= 0)
            return browser->ssl ? tls_step(browser, (int)moved) : plain_step(moved);
        browser->have += (size_t)moved;
        *verdict = answer_judge(expected, browser->input, browser->have);
        errno = 0;
        if (verdict->size && browser->have > verdict->size)
            die("there are more bytes than answers");
        if (verdict->size)
            return STEP_DONE;
    }
}

/* Return whether the server announced that it closes the connection after this answer. */
static bool says_close(const char *bytes, size_t size)
{
    static const char FIELD[] = "\nconnection: close";
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        if (strncasecmp(at, FIELD, sizeof(FIELD) - 1) == 0)
            return true;
    return false;
}

static enum step advance(struct browser *browser, struct plan *plan, struct verdict *verdict)
{
    enum step step = STEP_DONE;
    if (browser->state == BROWSER_CONNECTING && (step = connected(browser)) == STEP_DONE)
        browser->state = BROWSER_SHAKING;
    if (browser->state == BROWSER_SHAKING && (step = shake(browser)) == STEP_DONE)
        browser->state = BROWSER_OPEN;
    if (step == STEP_DONE)
        step = write_rest(browser);
    return step == STEP_DONE ? read_answer(browser, plan, verdict) : step;
}

enum browser_news browser_go(struct browser *browser, const struct target *target,
                             struct plan *plan, struct verdict *verdict)
{
    for (;;) {
        if (browser->state == BROWSER_AWAY)
            begin(browser, target);
        enum step step = advance(browser, plan, verdict);
        if (step == STEP_WAIT)
            return BROWSER_WAITS;
        bool again = step == STEP_END && browser->kept && !browser->have;
        if (step == STEP_DONE && !says_close(browser->input, browser->have))
            browser->kept = true;
        else
            browser_close(browser);
        if (again)
            continue;
        browser->waiting = false;
        return step == STEP_DONE ? BROWSER_ANSWERED : BROWSER_FAILED;
    }
}

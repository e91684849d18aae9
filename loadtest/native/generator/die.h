#ifndef DIE_H
#define DIE_H

/* Tell on stderr what went wrong, with errno's words if it is not 0, and end with code 1. */
void die(const char *what) __attribute__((noreturn));

#endif

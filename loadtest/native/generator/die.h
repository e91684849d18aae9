#ifndef DIE_H
#define DIE_H

/* Print on stderr what went wrong, with the text of errno if it is not 0, and exit with code 1. */
void die(const char *what) __attribute__((noreturn));

#endif

/* The scanner of machines for which we have no better one. */
#include "http/scan.h"

unsigned scan_list(scanner *list[SCAN_LIST])
{
    list[0] = scan_plain;
    return 1;
}

"""How a measurement is made: the server, its clients, their cores, and the kernel's counters."""

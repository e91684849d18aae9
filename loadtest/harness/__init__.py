"""How one measurement is made: the server, its clients, their cores, what the kernel says."""

"""A measurement as a quiet machine would produce it."""

from loadtest.harness.measurement import Measurement

QUIET = Measurement(
    scenario="count",
    round=1,
    answered=600_000,
    seconds=6.0,
    rate=100_000.0,
    cpu_ns=6_500.0,
    p50=900.0,
    p90=1_000.0,
    p99=1_200.0,
    max=2_000.0,
    rss_mib=45.0,
    server_share=0.9,
    client_share=0.8,
    others_share=0.01,
    stolen_share=0.0,
    client_others_share=0.02,
)

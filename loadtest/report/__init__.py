"""How results are shown and published: tables, summaries, options."""

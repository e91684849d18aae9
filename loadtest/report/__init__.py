"""How results are shown: tables, charts, differences."""

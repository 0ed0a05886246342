"""Text and JSON of records, hits, journal entries and reports, the same for every surface."""

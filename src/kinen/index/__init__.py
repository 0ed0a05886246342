"""The searchable side: tables, full text, vectors, links; all of it derived."""

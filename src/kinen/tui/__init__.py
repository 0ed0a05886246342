"""`kinen tui`: a keyboard-first browser of one's memory in the terminal.

`lists` has what the screens show and `changes` what keys change, both without a terminal; `app` and
`rows` are what imports Textual.
"""

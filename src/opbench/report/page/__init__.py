"""The page: one file that holds everything a run has to say, and needs nothing else.

`contents` gathers it from a store; `table`, `details`, `answers` and `drawings` bring it into a
compact form; `page` writes it into one HTML file together with the scripts that draw it. What the
page needs to show its table is unpacked at once; what belongs to single cases waits, compressed,
in pieces.
"""

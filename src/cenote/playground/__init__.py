"""``cenote playground``: one page in the browser, on which a call is taken apart.

``fields.py`` has the fields of the form, ``parsing.py`` reads their texts, ``state.py`` makes a call of them.
``answer.py`` computes what the page shows, with ``grids.py`` (cells to draw) and ``formulas.py`` (formulas with
numbers). ``server.py`` serves it with the files of ``static/``, which draw and compute nothing themselves.
"""

"""``cn.explain``: which elements each window sees, as data and as pictures.

``calls.py`` runs the call that is explained, ``windows.py`` has the data of its windows, ``sizes.py`` the size
arithmetic in words, ``scene.py`` a picture as rectangles and texts, which ``svg.py`` and ``png.py`` write down.
"""

"""``cn.explain``: which elements each window sees, as data and as pictures.

``calls.py`` runs the call that is explained, ``windows.py`` has the data of its windows, ``gradients.py`` their
derivatives, ``sizes.py`` and ``formula.py`` the words. ``layout.py`` says where elements are drawn, ``scene.py`` has a
picture as squares, marks and texts, which ``svg.py``, ``png.py``, ``terminal.py`` and ``page.py`` write down.
"""

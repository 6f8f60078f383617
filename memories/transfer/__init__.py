"""Memories in and out: the own archive, which is faithful, and the files of other programs, which are read only.

`exporting` and `importing` are what interfaces call.
"""

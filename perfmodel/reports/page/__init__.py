"""Report pages: predictions of one GPU as one HTML page, and as Markdown with pictures beside it.

`content` says what a report holds, `svg` and its neighbours draw, ``templates`` lay it out,
and `write` puts it into a folder.
"""

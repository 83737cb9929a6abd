"""One archive of a task that can be deposited and checked elsewhere: ``bundle TASK``, ``verify BUNDLE``.

=========  ============================================================================================
`archive`  the zip file: bytes that hang on nothing but its members; what is refused when one is read
`stage`    from a built task to the archive
`readme`   its README.md, for whoever has never heard of this project
`check`    link by link, whether an archive is what it says: `opened` reads its rules, `contents` holds members
           against each other, `rows` computes its rows on a data home
=========  ============================================================================================
"""

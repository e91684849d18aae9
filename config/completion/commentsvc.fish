# Completion of commentsvc for fish, which asks the program itself.
_COMMENTSVC_COMPLETE=fish_source commentsvc | source

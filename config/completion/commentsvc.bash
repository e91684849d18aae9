# Completion of commentsvc for bash, which asks the program itself.
eval "$(_COMMENTSVC_COMPLETE=bash_source commentsvc)"

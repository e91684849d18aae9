"""`python -m commentsvc`: the same as the command `commentsvc`."""

from commentsvc.cli import main

if __name__ == "__main__":
    main()

"""`python -m commentsvc`: the same as the command `commentsvc`."""

from commentsvc.cli.main import main

if __name__ == "__main__":
    main()

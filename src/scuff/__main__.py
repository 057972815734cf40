"""`python -m scuff` is the command `scuff`: so launchers such as torchrun can start it."""

from scuff.cli import app

if __name__ == "__main__":
    app(prog_name="scuff")

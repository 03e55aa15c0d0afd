"""python -m rankwise.cli"""

from rankwise.cli import main

main(prog_name="rankwise")

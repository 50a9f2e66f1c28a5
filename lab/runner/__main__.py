"""python3 -m runner, with lab/ on the path; scripts/lab builds first and then comes here."""

import sys

from runner.cli import main

sys.exit(main(sys.argv[1:]))

"""Holds ATIF trajectories to the validator of Harbor, who defines the format.

    atif.py FOLDER
"""

import json
import sys
from pathlib import Path

from harbor.utils.trajectory_validator import TrajectoryValidator

FEWEST = 30


def problems(trajectory):
    validator = TrajectoryValidator()
    validator.validate(trajectory)
    return validator.get_errors()


def main(folder):
    files = sorted(Path(folder).glob("*.json"))
    wrong = [f"{path.name}: {problem}" for path in files for problem in problems(path)]
    if len(files) < FEWEST:
        wrong.append(f"only {len(files)} trajectories")
    # The validator must be able to say no.
    first = json.loads(files[0].read_text())
    first["steps"][0]["source"] = "nobody"
    if not problems(first):
        wrong.append("the validator accepts a step without a known source")
    print("\n".join(wrong))
    print(f"{len(files)} trajectories")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

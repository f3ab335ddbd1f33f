"""What a release must do in an environment of its own: a project from a table to fine labels, and its page."""

import csv
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

WORDS = {"cat": "purrs and meows", "dog": "barks and wags", "apple": "is red and crunchy", "pear": "is green and soft"}


def ramify(*arguments: str) -> str:
    """Run the command of this environment; it must succeed."""
    done = subprocess.run([Path(sys.executable).with_name("ramify"), *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ramify {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(folder: Path) -> None:
    """Every command that a first day needs."""
    taxonomy, items, project = folder / "taxonomy.yaml", folder / "items.csv", folder / "pets"
    taxonomy.write_text("animal: [cat, dog]\nfood: [apple, pear]\n")
    fine = [list(WORDS)[number % 4] for number in range(80)]
    with items.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "text", "labels"])
        for number, name in enumerate(fine):
            table.writerow([number, f"It {WORDS[name]}.", "animal" if number % 4 < 2 else "food"])
    print(ramify("--version").strip())
    ramify("init", str(project), "--taxonomy", str(taxonomy))
    ramify("add", str(project), str(items))
    ramify("train", str(project))
    ramify("suggest", str(project), "-n", "12", "--out", str(folder / "ask.csv"))
    rows = list(csv.DictReader((folder / "ask.csv").open(newline="")))
    for row in rows:
        row["answer"] = fine[int(row["id"])]
    with (folder / "ask.csv").open("w", newline="") as file:
        answered = csv.DictWriter(file, rows[0])
        answered.writeheader()
        answered.writerows(rows)
    print(ramify("answer", str(project), str(folder / "ask.csv")).strip())
    ramify("predict", str(project), "--out", str(folder / "fine.csv"), "--threshold", "0.5")
    found = {row["id"]: row["labels"] for row in csv.DictReader((folder / "fine.csv").open(newline=""))}
    right = sum(found[str(number)].rpartition(" > ")[2] == name for number, name in enumerate(fine))
    print(f"{right} of {len(fine)} items have their fine label after {len(rows)} questions.")
    serve(project)
    if right < len(fine) * 0.9:
        sys.exit("That is too few.")


def serve(project: Path) -> None:
    """The page answers, and ends when it is told to."""
    command = [Path(sys.executable).with_name("ramify"), "serve", str(project), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        link = next(line.strip() for line in server.stdout if line.strip().startswith("http"))
        with urllib.request.urlopen(link) as page:
            print(f"The page answers: {page.status}.")
        server.terminate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))

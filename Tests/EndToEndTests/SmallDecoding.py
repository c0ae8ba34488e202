"""A small task for the decoder: a graph of two words, models of four states, a bigram, and scores of two utterances."""
import struct

GRAPH = """0 1 <s>
1 2 [sil]
2 3 [a]
3 4 go
4 2 [b]
2 5 [c] 0.2231436
5 6 no
6 2 [b]
2 8 [sil]
8 9 </s>
9
"""
TRANSITIONS = "[sil] -0.36 -1.2\n[a] -0.7 -0.7\n[b] -0.51 -0.92\n[c] -0.22 -1.61\n"
LM = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-0.7 </s>
-99 <s> -0.3
-0.5 go -0.4
-0.5 no

\\2-grams:
-0.4 <s> go
-0.3 go no

\\end\\
"""


def write_scores(path, states):
    """Writes an HTK file with the scores of frames in these states."""
    path.parent.mkdir(exist_ok=True)
    frames = [[3.0 if row == state else -3.0 for row in range(4)] for state in states]
    path.write_bytes(struct.pack(">iihh", len(frames), 100000, 16, 9) +
                     b"".join(struct.pack(">4f", *frame) for frame in frames))


def write_task(folder):
    """Writes the files of the task: graph.txt, transitions, models, map, lm, list.scp, and the scores in data."""
    (folder / "graph.txt").write_text(GRAPH)
    (folder / "transitions").write_text(TRANSITIONS)
    (folder / "models").write_text("sil sil\na a\nb b\nc c\n")
    (folder / "map").write_text("[sil] 0\n[a] 1\n[b] 2\n[c] 3\n")
    (folder / "lm").write_text(LM)
    (folder / "list.scp").write_text("go.sll=data/go.sll\nno.sll=data/no.sll[0,4]\n")
    write_scores(folder / "data/go.sll", [0, 1, 1, 2, 0])
    write_scores(folder / "data/no.sll", [0, 3, 3, 2, 0, 0])

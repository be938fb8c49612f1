"""What `@relayger` answers: the passage of the docs that fits a question best, and where to read on.

A plain search over Markdown files, without any model: read once, then a few lookups per question.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = "http://127.0.0.1:8000"  # where the service of the docs' lines is
MAX_PASSAGE = 1200
MAX_WORDS = 64  # of a question; more say nothing new
MIN_SHARE = 0.2  # of a question's weight that a section must hold to be an answer at all
TITLE, PAGE_TITLE, BODY = 4.0, 1.5, 1.0
_STOP = (
    "a about above after all also am an and any are as at be because been before but by can could did do does"
    " for from get give had has have hello help hey hi how i if in into is it its just know let like may me mean"
    " might my need no not now of on or our out please relayger say shall she should so some tell than thank"
    " thanks that the their them then there these they this to too us use using want was we were what when"
    " where which who whom whose why will with work would yes you your explain show"
)
_STOP_WORDS = frozenset(_STOP.split())
_WORD = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_LINK = re.compile(r"\]\((?!\w+:|#|/)(?:\./)?([\w-]+)\.md(#[\w-]*)?\)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it, up to the next heading; `blocks` are its paragraphs, lists and code."""

    page: str
    page_title: str
    title: str
    anchor: str
    blocks: tuple[str, ...]


class Answers:
    """Answers from the `*.md` files of a folder, with links below `origin`."""

    def __init__(self, docs_dir: Path, origin: str) -> None:
        self.origin = origin.rstrip("/")
        self.sections = [
            section
            for path in sorted(docs_dir.glob("*.md"))
            for section in read(path.stem, path.read_text("utf-8").replace(EXAMPLE, self.origin))
        ]
        self._found: dict[str, dict[int, float]] = defaultdict(dict)  # word: section: weight
        for index, section in enumerate(self.sections):
            for word, weight in _weights(section).items():
                self._found[word][index] = weight
        total = len(self.sections)
        self._vocabulary = sorted(self._found)
        self._rarity = {word: math.log(1 + total / len(where)) for word, where in self._found.items()}

    def answer(self, question: str) -> str:
        """The title of the best section, its best passage and a link; topics to ask about when none fits."""
        wanted = dict.fromkeys(words(question[:4000]))
        asked = [self._known(word) for word in wanted if word not in _STOP_STEMS][:MAX_WORDS]
        best = self._best(asked)
        if best is None:
            return self._fallback()
        section = self.sections[best]
        passage = _passage(section, {word: self._rarity.get(word, 0.0) for word in asked})
        link = f"{self.origin}/docs/{section.page}#{section.anchor}"
        return f"{section.title}\n\n{self._linked(passage)}\n\n{link}"

    def _known(self, word: str) -> str:
        """A word of the docs that begins like a word they do not have: `postgres` finds `postgresql`."""
        if word in self._found or len(word) < 4:
            return word
        at = bisect_left(self._vocabulary, word)
        near = self._vocabulary[at] if at < len(self._vocabulary) else ""
        return near if near.startswith(word) else word

    def _best(self, asked: list[str]) -> int | None:
        scores: dict[int, float] = defaultdict(float)
        held: dict[int, float] = defaultdict(float)
        unknown = math.log(1 + len(self.sections)) if self.sections else 0.0
        weight = 0.0
        for word in asked:
            rarity = self._rarity.get(word, unknown)
            weight += rarity
            for index, count in self._found.get(word, {}).items():
                scores[index] += rarity * count
                held[index] += rarity
        if not scores:
            return None
        # A section that holds more of the question beats one that repeats a part of it.
        best = max(scores, key=lambda index: (scores[index] * held[index], -index))
        return best if held[best] >= MIN_SHARE * weight else None

    def _linked(self, passage: str) -> str:
        """Links between pages as links that work from anywhere."""
        return _LINK.sub(lambda found: f"]({self.origin}/docs/{found[1]}{found[2] or ''})", passage)

    def _fallback(self) -> str:
        titles = list(dict.fromkeys(section.page_title for section in self.sections))
        topics = f" Ask me about one of these: {', '.join(titles)}." if titles else ""
        return (
            "I answer questions about Relayger from its documentation, and found nothing there that fits this one."
            f"{topics}\n\n{self.origin}/docs"
        )


def words(text: str) -> list[str]:
    """The words of a text in the form they are compared in; `a_b` and `a-b` count as a whole and in parts."""
    found: list[str] = []
    for match in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        parts = re.split(r"[-_]", match)
        found += [_stem(part) for part in parts]
        if len(parts) > 1:
            found.append(match)
    return found


def _stem(word: str) -> str:
    """English endings taken off, so that `registering` finds `register` and `messages` finds `message`."""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_STOP_STEMS = _STOP_WORDS | {_stem(word) for word in _STOP_WORDS}


def read(page: str, text: str) -> list[Section]:
    """The sections of a Markdown file. A heading without anything under it is left out."""
    sections: list[Section] = []
    anchors: Counter[str] = Counter()
    page_title, title, anchor = page.capitalize(), "", ""
    body: list[str] = []

    def close() -> None:
        if blocks := tuple(_blocks(body)):
            sections.append(Section(page, page_title, title or page_title, anchor, blocks))
        body.clear()

    for line, code in _lines(text):
        heading = None if code else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        close()
        title = _plain(heading[2])
        if heading[1] == "#" and not anchors:
            page_title = title
        anchor = _anchor(title)
        anchors[anchor] += 1
        if anchors[anchor] > 1:
            anchor = f"{anchor}-{anchors[anchor] - 1}"
    close()
    return sections


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a block of code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            yield line, True
            if mark and mark[1].startswith(fence):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Paragraphs, lists, tables and code blocks; what one introduces with a colon stays with it."""
    block: list[str] = []
    introduced = ""
    for line, code in [*_lines("\n".join(lines)), ("", False)]:
        goes_on = block and (_ITEM.match(block[0]) and line.startswith("  "))
        if code or line.strip() or goes_on:
            block.append(line)
            continue
        text = "\n".join(block).strip("\n")
        block = []
        if not text:
            continue
        if text.endswith(":") and not introduced:
            introduced = text
            continue
        yield f"{introduced}\n\n{text}" if introduced else text
        introduced = ""
    if introduced:
        yield introduced


def _weights(section: Section) -> dict[str, float]:
    """How much a section says about each of its words: titles count most, repeating a word counts less and less."""
    body = words("\n".join(section.blocks))
    counts = Counter(body)
    length = 0.5 + len(body) / 200
    weights = {word: BODY * count * 2.2 / (count + 1.2 * length) for word, count in counts.items()}
    for words_of, worth in ((words(section.title), TITLE), (words(section.page_title), PAGE_TITLE)):
        for word in set(words_of):
            weights[word] = weights.get(word, 0.0) + worth
    return weights


def _passage(section: Section, asked: dict[str, float]) -> str:
    """The block that holds most of the question, the first of several; what follows it while it is short."""

    def held(block: str) -> float:
        there = set(words(block))
        return sum(rarity for word, rarity in asked.items() if word in there)

    best = max(range(len(section.blocks)), key=lambda index: (held(section.blocks[index]), -index))
    return _cut(section.blocks[best])


def _cut(text: str) -> str:
    """At most MAX_PASSAGE characters, cut after a line or a word; an open block of code is closed."""
    if len(text) <= MAX_PASSAGE:
        return text
    short = text[: MAX_PASSAGE - 8]
    at = max(short.rfind("\n"), short.rfind(" ") if "```" not in short else -1)
    short = short[:at].rstrip() if at > MAX_PASSAGE // 2 else short
    return f"{short}\n```\n…" if short.count("```") % 2 else f"{short} …"


def _plain(title: str) -> str:
    """A heading without its Markdown."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("*", "")


def _anchor(title: str) -> str:
    """The fragment that Markdown renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")

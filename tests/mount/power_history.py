# SPDX-License-Identifier: BSD-3-Clause
"""power_history - the possible contents of each file after a power cut

A *state* of a path is the bytes of its file, or ABSENT.  A state is possible from the
moment at which the change to it began.  Earlier states are impossible from the moment
at which it was acknowledged as durable.
"""
import hashlib

ABSENT = "absent"


def digest(content):
    """A digest of @content, or ABSENT."""
    if content is ABSENT:
        return ABSENT
    return len(content), hashlib.blake2b(content, digest_size=16).hexdigest()


class History:
    def __init__(self, now):
        self.now = now
        # path -> [(moment, state)], and [(moment, index of the first state that is
        # still possible)]: of acknowledged contents, and of names alone
        self.states = {}
        self.marks = {}
        self.names = {}
        # [(from, to, path, path, states)]: one of the paths has one of the states.
        self.moves = []
        # [(moment, text)], for messages
        self.steps = []

    def step(self, text):
        self.steps.append((self.now(), text))

    def change(self, path, content):
        """Call it before the change."""
        self.add(path, digest(content))

    def add(self, path, state):
        moment = self.now()
        self.states.setdefault(path, [(0, ABSENT)]).append((moment, state))
        self.marks.setdefault(path, [(0, 0)])
        self.names.setdefault(path, [(0, 0)])
        self.moves = [
            (start, moment if end is None and path in (old, new) else end, old,
             new, states) for start, end, old, new, states in self.moves]

    def acknowledged(self, path, index=None):
        """The last state of @path, or its state @index, is durable now."""
        if index is None:
            index = len(self.states[path]) - 1
        self.marks[path].append((self.now(), index))

    def there(self, path):
        """The name @path is durable now, with any content since then."""
        states = self.states[path]
        index = len(states) - 1
        while states[index - 1][1] is not ABSENT:
            index -= 1
        self.names[path].append((self.now(), index))

    def live(self, path):
        """The states that are possible now."""
        if path not in self.states:
            return [ABSENT]
        first = self.marks[path][-1][1]
        return [state for _, state in self.states[path][first:]]

    def rename(self, old, new):
        """Call it before @old gets the name @new.

        Returns the argument for renamed(), to be called when the rename is durable.
        """
        live = self.live(old)
        states = [state for state in live if state is not ABSENT]
        first = len(self.states.get(new, [0]))
        for state in states:
            self.add(new, state)
        self.add(old, ABSENT)
        if ABSENT not in live:
            self.moves.append((self.now(), None, old, new, states))
        return old, new, first, ABSENT not in live

    def renamed(self, old, new, first, was_durable):
        """The new name is durable; so are contents if they were before."""
        self.acknowledged(old)
        marks = self.marks if was_durable else self.names
        marks[new].append((self.now(), first))

    def possible(self, path, moment):
        """The states of @path that a cut at @moment may leave."""
        first = max(index for marks in (self.marks, self.names)
                    for at, index in marks[path] if at <= moment)
        return [state for at, state in self.states[path][first:]
                if at <= moment]

    def is_kept(self, path, moment):
        """Was a content acknowledged that a cut at @moment must not take away?"""
        first = max(index for at, index in self.marks[path] if at <= moment)
        return self.states[path][first][1] is not ABSENT

    def moved(self, moment):
        """(path, path, states): after a cut at @moment one of the paths has one of the
        states."""
        return [move for start, end, *move in self.moves
                if start <= moment and (end is None or moment < end)]

    def last_steps(self, moment, n=6):
        return [f"{at}: {text}" for at, text in self.steps
                if at <= moment][-n:]
